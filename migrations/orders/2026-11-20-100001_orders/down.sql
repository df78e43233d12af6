DROP TABLE catalogue_item;
DROP TABLE order_timeline;
DROP TABLE orders;
