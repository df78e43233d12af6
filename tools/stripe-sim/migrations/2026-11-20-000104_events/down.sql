DROP TABLE delivery;
DROP TABLE event;
