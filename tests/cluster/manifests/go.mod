// The modules whose manifests cluster/sandbox/manifests.rs applies; it names their versions, and
// go.sum what they hold. They are no requirements, since nothing of them is compiled.
module manifests

go 1.26.0
