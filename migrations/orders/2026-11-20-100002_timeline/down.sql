ALTER TABLE orders
    ALTER COLUMN placed_at SET DEFAULT clock_timestamp(),
    ALTER COLUMN updated_at SET DEFAULT clock_timestamp();
DROP TABLE order_timeline;
