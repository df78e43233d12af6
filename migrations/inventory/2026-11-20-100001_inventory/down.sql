DROP TABLE stock_movement;
DROP TABLE reservation_line;
DROP TABLE reservation;
DROP TABLE item;
