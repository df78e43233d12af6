DROP TABLE greeted;
