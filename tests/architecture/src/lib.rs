#![doc = include_str!("../README.md")]

pub mod catalogue;
pub mod graph;
pub mod modules;
pub mod rooms;
pub mod rules;
pub mod services;
pub mod tokens;
