ALTER TABLE reservation RESET (fillfactor);
