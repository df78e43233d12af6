-- Whom it has greeted, in the order of its doing so.
CREATE TABLE greeted (
    n        bigint GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    order_id uuid   NOT NULL,
    number   bigint NOT NULL
);
GRANT SELECT, INSERT ON greeted TO idem_service;
