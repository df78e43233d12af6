ALTER TABLE inbox_sequence RESET (fillfactor);
