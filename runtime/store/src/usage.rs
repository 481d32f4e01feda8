//! What is kept, in bytes: by an owner, and by all on the disk.

use dormouse_core::sandbox::{Disk, Owner, Quota, Stored};
use rusqlite::Connection;

use crate::fault::Answer;
use crate::folder::Folder;

/// Most bytes that one state counts for, so that a damaged row makes no sum overflow: 256 TiB.
const MOST: i64 = 1 << 48;

/// What the states of an owner's sandboxes and checkpoints hold, each state once.
pub(crate) fn stored(connection: &Connection, owner: &Owner) -> Answer<Stored> {
    let sql = "WITH held (root, bytes, own) AS (
            SELECT state_root, state_bytes, 1 FROM sandboxes WHERE owner = ?1 AND state_root IS NOT NULL
            UNION ALL
            SELECT checkpoints.state_root, checkpoints.state_bytes, 0
            FROM sandboxes JOIN checkpoints ON checkpoints.sandbox = sandboxes.id WHERE sandboxes.owner = ?1
        ), each (bytes, own) AS (SELECT min(max(bytes), ?2), max(own) FROM held GROUP BY root)
        SELECT coalesce(sum(bytes), 0), coalesce(sum(bytes) FILTER (WHERE own = 0), 0) FROM each";
    let mut statement = connection.prepare_cached(sql)?;
    let (bytes, checkpoints): (i64, i64) =
        statement.query_row((owner.as_str(), MOST), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(Stored { bytes: bytes.unsigned_abs(), checkpoints: checkpoints.unsigned_abs() })
}

/// Bytes of the database's pages that hold something.
pub(crate) fn used(connection: &Connection) -> Answer<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok(pages.unsigned_abs() * pragma("page_size")?.unsigned_abs())
}

/// What is on the disk, and what was after the last sweep.
pub(crate) fn disk(connection: &Connection, folder: &Folder) -> Answer<Disk> {
    Ok(Disk { used: used(connection)?, swept: folder.swept() })
}

/// Refuses what a transaction is about to keep of an owner's when it is more than may be.
///
/// # Errors
/// `quota_exceeded`.
pub(crate) fn check(connection: &Connection, owner: &Owner, quota: &Quota) -> Answer<()> {
    if quota.saved.of_owner.is_some() {
        quota.check_stored(&stored(connection, owner)?)?;
    }
    if quota.saved.in_all.is_some() {
        quota.check_disk(used(connection)?)?;
    }
    Ok(())
}
