CREATE TABLE page (number integer PRIMARY KEY, words text NOT NULL);
GRANT SELECT, INSERT ON page TO idem_service;
