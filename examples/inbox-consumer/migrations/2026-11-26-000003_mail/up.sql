CREATE TABLE mail (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    ticket  uuid NOT NULL,
    subject text NOT NULL
);
GRANT SELECT, INSERT ON mail TO idem_service;
