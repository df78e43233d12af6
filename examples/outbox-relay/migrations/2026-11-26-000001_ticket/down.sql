DROP TABLE ticket;
