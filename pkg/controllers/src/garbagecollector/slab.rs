//! Places for nodes that keep their number.

/// How many places are added at once: growing must not move what is there.
const CHUNK: usize = 1024;

/// Values by number; the numbers of those that were removed are given out again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Box<[Option<T>]>>,
    free: Vec<u32>,
    /// How often a caller walked over all values.
    #[cfg(test)]
    pub(super) walks: std::sync::atomic::AtomicUsize,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            free: Vec::new(),
            #[cfg(test)]
            walks: std::sync::atomic::AtomicUsize::default(),
        }
    }
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, value: T) -> u32 {
        if self.free.is_empty() {
            let start = self.chunks.len() * CHUNK;
            self.chunks.push((0..CHUNK).map(|_| None).collect());
            let slots = (start..start + CHUNK).rev().map(u32::try_from);
            self.free.extend(slots.map(|slot| slot.expect("fewer than 2^32 objects")));
        }
        let slot = self.free.pop().expect("a chunk was added if there was none");
        *self.place(slot).expect("free numbers have places") = Some(value);
        slot
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<T> {
        let value = self.place(slot)?.take();
        if value.is_some() {
            self.free.push(slot);
        }
        value
    }

    pub(super) fn get(&self, slot: u32) -> Option<&T> {
        let (chunk, at) = split(slot);
        self.chunks.get(chunk)?.get(at)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut T> {
        self.place(slot)?.as_mut()
    }

    /// All values, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        #[cfg(test)]
        self.walks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let places = self.chunks.iter().flatten();
        (0..).zip(places).filter_map(|(slot, place)| place.as_ref().map(|value| (slot, value)))
    }

    fn place(&mut self, slot: u32) -> Option<&mut Option<T>> {
        let (chunk, at) = split(slot);
        self.chunks.get_mut(chunk)?.get_mut(at)
    }
}

fn split(slot: u32) -> (usize, usize) {
    let slot = slot as usize;
    (slot / CHUNK, slot % CHUNK)
}
