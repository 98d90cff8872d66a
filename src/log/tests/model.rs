//! Any sequence of appends, reads, syncs, crashes and restarts, against a model that is a list of values.
//!
//! It must not look inside. The model knows what may be lost: what no sync has covered.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Action {
    Append { records: usize, durability: Durability },
    TakeSyncPoint,
    FinishSync,
    ReadFrom(u32),
    DeleteRecords(u32),
    Retain,
    Kill,
    PowerCut { kept_of_256: usize },
    CleanRestart,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (1..4usize, any::<bool>()).prop_map(|(records, synced)| Action::Append {
            records,
            durability: if synced { Durability::Synced } else { Durability::Written },
        }),
        3 => Just(Action::TakeSyncPoint),
        3 => Just(Action::FinishSync),
        4 => any::<u32>().prop_map(Action::ReadFrom),
        1 => any::<u32>().prop_map(Action::DeleteRecords),
        1 => Just(Action::Retain),
        1 => Just(Action::Kill),
        2 => prop_oneof![Just(0), Just(128), 0..=256usize].prop_map(|kept_of_256| Action::PowerCut { kept_of_256 }),
        1 => Just(Action::CleanRestart),
    ]
}

/// What must hold, and the log that has to hold it.
struct World {
    disk: Arc<MemoryDisk>,
    manager: LogManager,
    log: Arc<UnifiedLog>,
    values: Vec<String>,
    durable: usize,
    start: usize,
    point: Option<SyncPoint>,
    next_value: usize,
}

fn settings() -> LogSettings {
    LogSettings { segment_bytes: 400, index_interval_bytes: 60, retention_bytes: 900, ..LogSettings::default() }
}

impl World {
    fn new() -> World {
        let disk = MemoryDisk::new();
        let (manager, log) = open(&disk, settings());
        World { disk, manager, log, values: Vec::new(), durable: 0, start: 0, point: None, next_value: 0 }
    }

    fn act(&mut self, action: &Action) {
        match *action {
            Action::Append { records, durability } => {
                let values: Vec<String> = (0..records).map(|index| format!("v{}", self.next_value + index)).collect();
                self.next_value += records;
                let texts: Vec<&str> = values.iter().map(String::as_str).collect();
                let info = append(&self.log, &texts, durability);
                assert_eq!(info.base_offset.0 as usize, self.values.len());
                self.values.extend(values);
            }
            Action::TakeSyncPoint => self.point = Some(self.log.sync_point().unwrap()),
            Action::FinishSync => {
                if let Some(point) = self.point.take() {
                    SyncPoint::job(std::iter::once(&point)).run(&*self.disk).unwrap();
                    self.log.synced(&point);
                    self.durable = self.durable.max(point.end.0 as usize);
                }
            }
            Action::ReadFrom(seed) => self.read(seed as usize),
            Action::DeleteRecords(seed) => {
                let target = seed as usize % (self.values.len() + 1);
                if let Ok(start) = self.log.delete_records_before(Offset(target as i64)) {
                    self.start = start.0 as usize;
                }
            }
            Action::Retain => {
                self.log.delete_old_segments(at(2)).unwrap();
                self.start = self.log.log_start_offset().0 as usize;
            }
            Action::Kill => self.restart(self.disk.kill(), false),
            Action::PowerCut { kept_of_256 } => {
                let keep =
                    |_: &std::path::Path, synced: usize, bytes: usize| synced + (bytes - synced) * kept_of_256 / 256;
                self.restart(self.disk.crash(keep), true);
            }
            Action::CleanRestart => {
                self.manager.shutdown(1).unwrap();
                self.durable = self.values.len();
                self.restart(self.disk.crash(|_, synced, _| synced), false);
                assert!(self.log.was_clean());
            }
        }
        self.check();
    }

    fn restart(&mut self, disk: Arc<MemoryDisk>, may_lose: bool) {
        (self.manager, self.log) = open(&disk, settings());
        self.disk = disk;
        self.point = None;
        let end = self.log.log_end_offset().0 as usize;
        assert!(
            end >= self.durable && end <= self.values.len(),
            "{end} of {}, durable {}",
            self.values.len(),
            self.durable
        );
        assert!(may_lose || end == self.values.len());
        self.values.truncate(end);
        self.durable = end;
        // The start is as durable as its checkpoint: it may fall back, but never rises by itself.
        assert!(self.log.log_start_offset().0 as usize <= self.start.max(end));
        self.start = self.log.log_start_offset().0 as usize;
    }

    fn read(&self, seed: usize) {
        let from = self.start + seed % (self.values.len() - self.start + 1);
        let data = self.log.read(Offset(from as i64), 1 + seed % 700, FetchIsolation::HighWatermark, true).unwrap();
        let read = values(&bytes_of(&data));
        let visible = self.log.high_watermark().0 as usize;
        assert_eq!(read.is_empty(), from >= visible, "from {from}, high watermark {visible}");
        assert!(read.first().is_none_or(|(first, _)| *first as usize <= from));
        for (offset, value) in read {
            assert!((offset as usize) < visible);
            assert_eq!(value, self.values[offset as usize]);
        }
    }

    fn check(&self) {
        let log = &self.log;
        assert_eq!(log.log_end_offset().0 as usize, self.values.len());
        assert_eq!(log.durable_end_offset().0 as usize, self.durable);
        assert!(log.high_watermark() >= log.durable_end_offset() && log.high_watermark() <= log.log_end_offset());
        let all: Vec<String> = read_all(log, Offset(self.start as i64)).into_iter().map(|(_, value)| value).collect();
        let visible = self.values.get(self.start..log.high_watermark().0 as usize).unwrap_or_default();
        assert_eq!(all, visible);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_is_the_list_of_what_was_appended_and_not_lost(actions in prop::collection::vec(action(), 1..40)) {
        let mut world = World::new();
        for action in &actions {
            world.act(action);
        }
    }
}
