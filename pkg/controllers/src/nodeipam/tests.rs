//! Tables, after upstream's `pkg/controller/nodeipam/ipam/range_allocator_test.go` and
//! `cidrset/cidr_set_test.go`.

mod blocks;
mod nodes;
