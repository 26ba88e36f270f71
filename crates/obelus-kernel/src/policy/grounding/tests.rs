//! Every part of the rule, with what is found and what is not.
