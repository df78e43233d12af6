DROP TABLE greeting;
