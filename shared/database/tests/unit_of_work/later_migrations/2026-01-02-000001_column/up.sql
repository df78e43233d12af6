ALTER TABLE page ADD COLUMN author text;
