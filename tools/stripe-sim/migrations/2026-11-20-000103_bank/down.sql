DROP TABLE bank_decision;
