//! The tables of `migrations/inventory`, in the form that diesel needs.

diesel::table! {
    item (id) {
        id -> Uuid,
        tenant_id -> Text,
        sku -> Text,
        name -> Text,
        unit_price -> BigInt,
        currency -> Text,
        version -> BigInt,
        on_hand -> BigInt,
        reserved -> BigInt,
        position -> Uuid,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    reservation (order_id) {
        order_id -> Uuid,
        tenant_id -> Text,
        state -> Text,
        sequence -> BigInt,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    reservation_line (order_id, item_id) {
        order_id -> Uuid,
        item_id -> Uuid,
        tenant_id -> Text,
        sku -> Text,
        quantity -> BigInt,
    }
}

diesel::table! {
    stock_movement (id) {
        id -> Uuid,
        tenant_id -> Text,
        item_id -> Uuid,
        kind -> Text,
        delta -> BigInt,
        reason -> Nullable<Text>,
        order_id -> Nullable<Uuid>,
        moved_at -> Timestamptz,
    }
}

diesel::joinable!(reservation_line -> reservation (order_id));
diesel::allow_tables_to_appear_in_same_query!(reservation, reservation_line);
