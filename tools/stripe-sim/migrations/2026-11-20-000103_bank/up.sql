-- What a bank decides later: a row is taken away in the transaction that carries the decision out.

CREATE TABLE bank_decision (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    object   text        NOT NULL,
    decision text        NOT NULL
        CHECK (decision IN ('charge_succeeds', 'charge_fails', 'refund_succeeds', 'refund_fails')),
    due_at   timestamptz NOT NULL
);
CREATE INDEX bank_decision_due ON bank_decision (due_at);

-- UPDATE, as a row that is taken away is locked first.
GRANT SELECT, INSERT, UPDATE, DELETE ON bank_decision TO idem_service;
