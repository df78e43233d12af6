DROP TABLE catalogue_item;
DROP TABLE orders;
