ALTER TABLE payment RESET (fillfactor);
