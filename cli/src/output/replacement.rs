//! A file that takes the place of another one, or of none, once it is complete.
//!
//! On Linux it has no name until then, so whatever ends the program leaves nothing behind. Where
//! that is not possible it has a temporary name, which [`signals`](super::signals) removes.

use super::signals;
use crate::failure::{Failure, Result};
use std::fs::{self, File, Metadata};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

pub(super) struct Replacement {
    /// Nothing once it is finished.
    file: Option<Unfinished>,
    target: PathBuf,
    /// The file whose place is taken.
    old: Option<Metadata>,
}

enum Unfinished {
    #[cfg(target_os = "linux")]
    Nameless(File),
    Named(NamedTempFile),
}

impl Replacement {
    /// Opens a new file beside `path`, where a rename is atomic.
    pub(super) fn open(path: &Path, name: &str, old: Option<Metadata>) -> Result<Self> {
        let followed = followed(path);
        if followed.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(Failure::with_remedy(
                name,
                "the name of a folder ends so",
                "give the name of a file",
            ));
        }
        let folder = parent_of(&followed);
        if !folder.is_dir() {
            let folder = folder.display();
            return Err(Failure::with_remedy(
                name,
                format_args!("there is no folder `{folder}`"),
                format_args!("mkdir -p {folder}"),
            ));
        }
        let target = match &old {
            Some(_) => fs::canonicalize(path),
            None => fs::canonicalize(folder)
                .map(|folder| folder.join(followed.file_name().unwrap_or_default())),
        };
        let target = target.map_err(|error| Failure::at(name, error))?;
        let folder = parent_of(&target);
        if old.is_some() && is_write_protected(&target) {
            return Err(Failure::with_remedy(
                name,
                "the file is write-protected",
                "give another name, or chmod +w",
            ));
        }
        signals::outlive_limits();
        let file = Unfinished::open(folder, old.is_some());
        let file = file.map_err(|error| match (error.kind(), &old) {
            (io::ErrorKind::PermissionDenied, Some(_)) => Failure::with_remedy(
                name,
                format_args!(
                    "the file is replaced by a new one, and nothing new may be written in `{}`",
                    folder.display()
                ),
                format_args!("warpfold ... > {name} writes into the file itself"),
            ),
            _ => Failure::at(
                name,
                format_args!("in the folder `{}`: {error}", folder.display()),
            ),
        })?;
        Ok(Replacement {
            file: Some(file),
            target,
            old,
        })
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    fn file(&mut self) -> &mut File {
        match self.file.as_mut().expect("a file that is not finished") {
            #[cfg(target_os = "linux")]
            Unfinished::Nameless(file) => file,
            Unfinished::Named(file) => file.as_file_mut(),
        }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file().write_all(bytes)
    }

    pub(super) fn write_start(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file().rewind()?;
        self.file().write_all(bytes)
    }

    /// Makes sure that all is on the disk.
    pub(super) fn complete(&mut self) -> io::Result<()> {
        if let Some(old) = self.old.take() {
            inherit(self.file(), &old)?;
        }
        // Some file systems report a full disk only here.
        self.file().sync_data()
    }

    /// Gives the file its name. To be called once, when it is complete.
    pub(super) fn publish(&mut self) -> io::Result<()> {
        let unfinished = self.file.take().expect("a file is finished once");
        let named = match unfinished {
            #[cfg(target_os = "linux")]
            Unfinished::Nameless(file) => match link(&file, &self.target) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(_) => signals::guard(|| {
                    let folder = parent_of(&self.target);
                    let named = temporary().make_in(folder, |path| link(&file, path))?;
                    Ok((named.path().to_owned(), named.into_temp_path()))
                })?,
            },
            Unfinished::Named(named) => named.into_temp_path(),
        };
        named.persist(&self.target).map_err(|error| error.error)
    }
}

impl Unfinished {
    fn open(folder: &Path, replaces: bool) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        match nameless(folder, replaces) {
            Ok(file) => return Ok(Unfinished::Nameless(file)),
            // A file system without such files says one of these.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            Err(_) => {}
        }
        let mut builder = temporary();
        #[cfg(unix)]
        if !replaces {
            // As for any new file; the process's umask takes from it what it should.
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = signals::guard(|| {
            let file = builder.tempfile_in(folder)?;
            Ok((file.path().to_owned(), file))
        })?;
        Ok(Unfinished::Named(file))
    }
}

fn temporary() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".warpfold-").suffix(".tmp");
    builder
}

/// A new file without a name. Nobody else may read what will replace a file that may be private.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path, replaces: bool) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let mode = Mode::from_raw_mode(if replaces { 0o600 } else { 0o666 });
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(openat(CWD, folder, flags, mode)?);
    // Through this name it will get its own.
    fs::metadata(descriptor(&file))?;
    Ok(file)
}

#[cfg(target_os = "linux")]
fn descriptor(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}

/// Gives a nameless file a name that nothing has.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let flags = AtFlags::SYMLINK_FOLLOW;
    Ok(linkat(CWD, descriptor(file), CWD, path, flags)?)
}

/// Gives a file the owner and the mode of another one, as far as that is allowed, without the bits
/// that make programs run as their owner. Where the group cannot stay, it gets no more rights than
/// all others have.
#[cfg(unix)]
fn inherit(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let new = file.metadata()?;
    let mut mode = old.mode() & 0o777;
    if new.uid() != old.uid() || new.gid() != old.gid() {
        let owner = fchown(file, Some(old.uid()), Some(old.gid()));
        if owner.is_err() && fchown(file, None, Some(old.gid())).is_err() {
            let others = mode & 0o007;
            mode = mode & 0o700 | (mode & (others << 3)) | others;
        }
    }
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn inherit(file: &File, old: &Metadata) -> io::Result<()> {
    file.set_permissions(old.permissions())
}

#[cfg(unix)]
fn is_write_protected(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_err()
}

#[cfg(not(unix))]
fn is_write_protected(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

/// Where symbolic links lead: the file is replaced or made there, and the link stays.
fn followed(path: &Path) -> PathBuf {
    // The system follows as many.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let Ok(link) = fs::read_link(&path) else {
            break;
        };
        path = parent_of(&path).join(link);
    }
    path
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}
