//! Keeps compiled kernels on disk, so that the next process need not compile.
//!
//! The key of an entry is the hash of everything that can change the code. Its file is named for
//! the key. It holds a magic word, the key again, the image's hash, and the image. So a file that
//! was cut, changed or renamed does not pass for an entry. It is written to a temporary file and
//! then renamed: readers, in however many processes, see a whole entry or none.
//!
//! A kernel from the cache runs on the GPU with the rights of the process. So the cache is trusted
//! only as far as its files are: the directory and the entries must belong to this user, and nobody
//! else may be able to write to them. An entry that fails any check is compiled again, and
//! replaced. The cache only saves time, so no failure here is an error: it is logged as a warning.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Moves the cache; an empty value switches it off.
const DIRECTORY_VARIABLE: &str = "WARPFOLD_CACHE_DIR";

/// Names the format; another format gets another word.
const MAGIC: &[u8; 8] = b"wfcache3";

/// Those of a hash.
const HASH_BYTES: usize = 32;

/// The magic word, the key, the hash of the image.
const HEADER_BYTES: usize = MAGIC.len() + 2 * HASH_BYTES;

static SWITCHED_OFF: AtomicBool = AtomicBool::new(false);

/// Switches the disk cache off for the rest of this process, as an empty `WARPFOLD_CACHE_DIR` does.
/// For programs that compile kernels that nobody will need again.
pub fn without_disk_cache() {
    SWITCHED_OFF.store(true, Ordering::Relaxed);
}

/// A cache directory that passed the checks.
#[derive(Debug, Clone)]
pub(super) struct DiskCache {
    directory: PathBuf,
}

/// The name of an entry: a hash of everything that can change the code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key([u8; HASH_BYTES]);

impl Key {
    pub(super) fn new(parts: &[&[u8]]) -> Key {
        let mut state = hash_parameters().to_state();
        for part in parts {
            // The length comes first, so no part can pass for the end of another.
            state.update(&(part.len() as u64).to_le_bytes());
            state.update(part);
        }
        Key(bytes_of(&state.finalize()))
    }
}

fn hash(data: &[u8]) -> [u8; HASH_BYTES] {
    bytes_of(&hash_parameters().hash(data))
}

fn hash_parameters() -> blake2b_simd::Params {
    let mut parameters = blake2b_simd::Params::new();
    parameters.hash_length(HASH_BYTES);
    parameters
}

fn bytes_of(hash: &blake2b_simd::Hash) -> [u8; HASH_BYTES] {
    hash.as_bytes().try_into().expect("it has as many bytes")
}

impl DiskCache {
    /// Opens the user's cache, and creates its directory if need be. `None` if that is impossible,
    /// which is logged once, or if the cache is switched off.
    pub(super) fn open() -> Option<DiskCache> {
        if SWITCHED_OFF.load(Ordering::Relaxed) {
            return None;
        }
        let directory = match std::env::var_os(DIRECTORY_VARIABLE) {
            Some(directory) if directory.is_empty() => return None,
            Some(directory) => PathBuf::from(directory),
            None => {
                use etcetera::BaseStrategy;
                match etcetera::choose_base_strategy() {
                    Ok(strategy) => strategy.cache_dir().join("warpfold"),
                    Err(error) => {
                        let place = Path::new("the user's cache directory");
                        warn_once(place, &io::Error::other(error));
                        return None;
                    }
                }
            }
        };
        match DiskCache::at(&directory) {
            Ok(cache) => Some(cache),
            Err(error) => {
                warn_once(&directory, &error);
                None
            }
        }
    }

    pub(super) fn at(directory: &Path) -> io::Result<DiskCache> {
        create_private_directory(directory)?;
        check_private(&fs::metadata(directory)?)?;
        Ok(DiskCache {
            directory: directory.to_owned(),
        })
    }

    pub(super) fn path(&self, key: Key) -> PathBuf {
        let digits = key.0.map(|byte| format!("{byte:02x}"));
        self.directory.join(digits.concat())
    }

    /// The entry of `key`, if there is a valid one. A damaged or foreign one counts as none.
    pub(super) fn load(&self, key: Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        match read_entry(&path, key) {
            Ok(image) => Some(image),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                log::warn!(
                    "the cached kernel {} is not used and will be rebuilt: {error}",
                    path.display()
                );
                None
            }
        }
    }

    /// Stores the entry of `key`. A failure is logged once.
    pub(super) fn store(&self, key: Key, image: &[u8]) {
        if let Err(error) = self.try_store(key, image) {
            warn_once(&self.directory, &error);
        }
    }

    fn try_store(&self, key: Key, image: &[u8]) -> io::Result<()> {
        // Private from the start: tempfile creates with mode 0600. Removed again if anything fails.
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(MAGIC)?;
        file.write_all(&key.0)?;
        file.write_all(&hash(image))?;
        file.write_all(image)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The image of the entry at `path`, if that is a valid entry of `key`.
fn read_entry(path: &Path, key: Key) -> io::Result<Vec<u8>> {
    let mut file = open_no_follow(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    check_private(&metadata)?;
    let mut entry = Vec::new();
    file.read_to_end(&mut entry)?;
    if !entry.starts_with(MAGIC) {
        return Err(io::Error::other("it is damaged, or of another format"));
    }
    if entry.len() < HEADER_BYTES {
        return Err(io::Error::other("it is damaged: it ends in its header"));
    }
    let image = entry.split_off(HEADER_BYTES);
    let (name, checksum) = entry[MAGIC.len()..].split_at(HASH_BYTES);
    if name != key.0 {
        return Err(io::Error::other("it is another kernel's"));
    }
    if checksum != hash(&image) {
        return Err(io::Error::other(
            "it is damaged: its checksum does not match",
        ));
    }
    Ok(image)
}

fn warn_once(directory: &Path, error: &io::Error) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        log::warn!(
            "kernels are not cached in {}: {error}; set {DIRECTORY_VARIABLE} to a private, writable directory \
             (or to nothing, to do without a cache)",
            directory.display()
        );
    });
}

#[cfg(unix)]
fn create_private_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    // An existing directory keeps its mode; the check that follows looks at it.
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(unix)]
fn open_no_follow(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// An error unless the file or directory is this user's, and only this user can write to it.
#[cfg(unix)]
fn check_private(metadata: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users can write to it"));
    }
    Ok(())
}

// Elsewhere a user's cache directory is private by its access-control list.
#[cfg(not(unix))]
fn create_private_directory(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(not(unix))]
fn open_no_follow(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(unix))]
fn check_private(_: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, DiskCache) {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiskCache::at(&directory.path().join("warpfold")).unwrap();
        (directory, cache)
    }

    #[test]
    fn what_is_stored_is_loaded() {
        let (_directory, cache) = cache();
        let key = Key::new(&[b"source", b"options"]);
        assert_eq!(cache.load(key), None);
        cache.store(key, b"image");
        assert_eq!(cache.load(key).as_deref(), Some(&b"image"[..]));
        assert_eq!(cache.load(Key::new(&[b"sourceo", b"ptions"])), None);
    }

    #[test]
    fn a_damaged_entry_is_not_loaded_and_can_be_replaced() {
        let (_directory, cache) = cache();
        let key = Key::new(&[b"key"]);
        cache.store(key, b"an image of some length");
        let path = cache.path(key);
        let sound = fs::read(&path).unwrap();
        for position in 0..sound.len() {
            let mut damaged = sound.clone();
            damaged[position] ^= 1;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(cache.load(key), None, "byte {position} was changed");
        }
        for length in 0..sound.len() {
            fs::write(&path, &sound[..length]).unwrap();
            assert_eq!(cache.load(key), None, "cut to {length} bytes");
        }
        cache.store(key, b"rebuilt");
        assert_eq!(cache.load(key).as_deref(), Some(&b"rebuilt"[..]));
    }

    /// As a copy, a rename or a half-done synchronisation leaves it.
    #[test]
    fn an_entry_under_anothers_name_is_not_loaded_and_can_be_replaced() {
        let (_directory, cache) = cache();
        let (key, other) = (Key::new(&[b"key"]), Key::new(&[b"other"]));
        cache.store(key, b"image");
        cache.store(other, b"another image");
        fs::copy(cache.path(other), cache.path(key)).unwrap();
        assert_eq!(cache.load(key), None);
        assert!(cache.load(other).is_some(), "its own name is right");
        cache.store(key, b"image");
        assert_eq!(cache.load(key).as_deref(), Some(&b"image"[..]));
    }

    /// Such an entry has a checksum, and does not say whose it is.
    #[test]
    fn an_entry_of_the_format_before_is_not_loaded_and_can_be_replaced() {
        let (_directory, cache) = cache();
        let key = Key::new(&[b"key"]);
        cache.store(key, b"image");
        let old = [b"wfcache1", &hash(b"image")[..], b"image"].concat();
        fs::write(cache.path(key), old).unwrap();
        assert_eq!(cache.load(key), None);
        cache.store(key, b"image");
        assert_eq!(cache.load(key).as_deref(), Some(&b"image"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_write_is_not_trusted() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, cache) = cache();
        let key = Key::new(&[b"key"]);
        cache.store(key, b"image");
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(&cache.path(key), 0o620);
        assert_eq!(cache.load(key), None);
        set_mode(&cache.path(key), 0o600);
        assert!(cache.load(key).is_some());

        let elsewhere = cache.directory.join("elsewhere");
        fs::rename(cache.path(key), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, cache.path(key)).unwrap();
        assert_eq!(cache.load(key), None, "a link can be another user's");

        set_mode(&cache.directory, 0o777);
        assert!(DiskCache::at(&cache.directory).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_new_directory_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let (_directory, cache) = cache();
        let mode = fs::metadata(&cache.directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_directory_that_cannot_be_written_is_no_error() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(DiskCache::at(file.path()).is_err());
        let (directory, cache) = cache();
        drop(directory);
        cache.store(Key::new(&[b"key"]), b"image");
        assert_eq!(cache.load(Key::new(&[b"key"])), None);
    }

    #[test]
    fn many_writers_leave_a_sound_entry() {
        let (_directory, cache) = cache();
        let key = Key::new(&[b"key"]);
        let image = vec![7_u8; 1 << 16];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        cache.store(key, &image);
                        assert_eq!(cache.load(key).as_deref(), Some(&image[..]));
                    }
                });
            }
        });
        let files = fs::read_dir(&cache.directory).unwrap().count();
        assert_eq!(files, 1, "no temporary file is left");
    }

    /// Says where the cache of this process is.
    #[test]
    #[ignore = "is called by the next test"]
    fn report_the_cache() {
        let directory = |cache: Option<DiskCache>| cache.map(|cache| cache.directory);
        println!("[cache {:?}]", directory(DiskCache::open()));
        super::without_disk_cache();
        println!("[switched off {:?}]", directory(DiskCache::open()));
    }

    #[test]
    fn the_environment_moves_the_cache_or_switches_it_off() {
        let report = |name: &str, value: &std::ffi::OsStr| {
            let mut command = std::process::Command::new(std::env::current_exe().unwrap());
            command.args(["report_the_cache", "--include-ignored", "--nocapture"]);
            command.env_remove(DIRECTORY_VARIABLE).env(name, value);
            let output = command.output().unwrap();
            assert!(output.status.success());
            String::from_utf8(output.stdout).unwrap()
        };
        let directory = tempfile::tempdir().unwrap();
        let there = directory.path().join("there");
        let text = report(DIRECTORY_VARIABLE, there.as_os_str());
        assert!(text.contains(&format!("[cache Some({there:?})]")), "{text}");
        assert!(text.contains("[switched off None]"), "{text}");
        assert!(there.is_dir());
        let text = report(DIRECTORY_VARIABLE, "".as_ref());
        assert!(text.contains("[cache None]"), "{text}");
        if cfg!(target_os = "linux") {
            let text = report("XDG_CACHE_HOME", directory.path().as_os_str());
            let users = directory.path().join("warpfold");
            assert!(text.contains(&format!("[cache Some({users:?})]")), "{text}");
        }
    }
}
