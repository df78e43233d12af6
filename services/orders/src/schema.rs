//! The tables of `migrations/orders`, in the form that diesel needs.

diesel::table! {
    orders (id) {
        id -> Uuid,
        tenant_id -> Text,
        client_id -> Text,
        state -> Text,
        cancel_reason -> Nullable<Text>,
        cancel_note -> Nullable<Text>,
        lines -> Jsonb,
        amount -> BigInt,
        currency -> Text,
        payment_method -> Text,
        reference -> Nullable<Text>,
        payment_id -> Nullable<Uuid>,
        sequence -> BigInt,
        placed_at -> Timestamptz,
        updated_at -> Timestamptz,
        expires_at -> Timestamptz,
        is_open -> Bool,
    }
}

diesel::table! {
    catalogue_item (tenant_id, sku) {
        tenant_id -> Text,
        sku -> Text,
        item_id -> Uuid,
        name -> Text,
        unit_price -> BigInt,
        currency -> Text,
        version -> BigInt,
        updated_at -> Timestamptz,
    }
}

diesel::table! {
    order_timeline (order_id, cause_id, what) {
        id -> BigInt,
        order_id -> Uuid,
        tenant_id -> Text,
        what -> Text,
        state -> Text,
        cause_kind -> Text,
        cause_id -> Uuid,
        cause_by -> Text,
        at -> Timestamptz,
    }
}

// The columns that the erasure reads. The crate `audit` writes the table.
diesel::table! {
    audit_fact (id) {
        id -> Uuid,
        action -> Text,
        subject_id -> Text,
        operation_id -> Uuid,
    }
}

diesel::joinable!(order_timeline -> orders (order_id));
diesel::allow_tables_to_appear_in_same_query!(order_timeline, orders);
