//! The data of ICU that is in the guest. The sources carry one package with all of it, 33 MB. Kept are the languages that `Intl` of
//! JavaScript has too, the character sets that text comes in, and the dictionaries of languages that are kept.

use anyhow::{Context as _, Result, ensure};

/// With every region that there is of them. `no` is the parent of `nb` and `nn`; the last four are older names.
const LANGUAGES: &str = "ar az bg bn ca cs da de el en es et fa fi fil fr he hi hr hu hy id is it ja ka kk ko lt lv mr ms nb nl nn no \
                         pl pt ro ru sk sl sr sv sw ta te th tr uk ur vi zh in iw sh tl";

/// Tables of character sets up to this size are all kept: they are 30 KB together when they are packed.
const SMALL: usize = 16 << 10;

/// The larger ones: those of GBK, EUC-KR, Big5, GB 18030, EUC-JP, Shift_JIS, ISO-2022-JP and GB 2312, some with another as their base.
const CHARSETS: &str = "euc-jp-2007 gb18030-2022 ibm-1363_P11B-1998 ibm-1373_P100-2002 ibm-1375_P100-2008 ibm-1383_P110-1999 \
                        ibm-1386_P100-2001 ibm-943_P15A-2003 ibm-970_P110_P110-2006_U2 jisx-212";

/// Dictionaries of languages that are not kept.
const DICTIONARIES: &str = "burmesedict khmerdict laodict";

/// Where ICU has its items start.
const ALIGNMENT: usize = 16;

/// The package with what is kept of it.
pub(super) fn reduced(package: &[u8]) -> Result<Vec<u8>> {
    let header = usize::from(u16_at(package, 0)?);
    ensure!(package.get(12..16) == Some(b"CmnD"), "this is no package of ICU's data");
    let mut kept = Vec::new();
    for (name, item) in items(package.get(header..).context("a cut package")?)? {
        let short = name.split_once('/').map_or(name, |(_, short)| short);
        if is_kept(short, item.len()) {
            let is_index = short.trim_end_matches(".res").ends_with(INDEX);
            kept.push((name, if is_index { index(item)? } else { item.to_vec() }));
        }
    }
    let mut written = package[..header].to_vec();
    write(&kept, &mut written)?;
    Ok(written)
}

fn is_kept(name: &str, size: usize) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let (stem, ending) = file.rsplit_once('.').unwrap_or((file, ""));
    let among = |list: &str| list.split_whitespace().any(|one| one == stem);
    match ending {
        "res" => is_kept_locale(stem),
        "cnv" => size <= SMALL || among(CHARSETS),
        "dict" => !among(DICTIONARIES),
        // Profiles of identifiers, for interfaces that PHP does not have.
        "spp" => false,
        _ => true,
    }
}

/// The name of the bundles that list the locales of their folder.
const INDEX: &str = "res_index";

/// Whether the name is that of a locale that is kept, or of no locale: those begin with two or three small letters.
fn is_kept_locale(name: &str) -> bool {
    let language = name.split('_').next().unwrap_or(name);
    let is_language =
        matches!(language.len(), 2 | 3) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    !is_language || name == INDEX || LANGUAGES.split_whitespace().any(|kept| kept == language)
}

/// The items of a package with their names: a count, for each the places of name and bytes, the names, the bytes.
fn items(body: &[u8]) -> Result<Vec<(&str, &[u8])>> {
    let count = u32_at(body, 0)?;
    let place = |number: usize, field: usize| u32_at(body, 4 + 8 * number + 4 * field);
    let mut found = Vec::new();
    for number in 0..count {
        let name = text_at(body, place(number, 0)?)?;
        let end = if number + 1 < count { place(number + 1, 1)? } else { body.len() };
        found.push((name, body.get(place(number, 1)?..end).context("a cut package")?));
    }
    Ok(found)
}

fn write(items: &[(&str, Vec<u8>)], into: &mut Vec<u8>) -> Result<()> {
    let start = into.len();
    let mut name_at = 4 + 8 * items.len();
    let names: usize = items.iter().map(|(name, _)| name.len() + 1).sum();
    let mut at = (name_at + names).next_multiple_of(ALIGNMENT);
    into.extend(u32::try_from(items.len())?.to_le_bytes());
    for (name, item) in items {
        into.extend(u32::try_from(name_at)?.to_le_bytes());
        into.extend(u32::try_from(at)?.to_le_bytes());
        name_at += name.len() + 1;
        at = (at + item.len()).next_multiple_of(ALIGNMENT);
    }
    for (name, _) in items {
        into.extend(name.as_bytes());
        into.push(0);
    }
    for (_, item) in items {
        into.resize(start + (into.len() - start).next_multiple_of(ALIGNMENT), 0);
        into.extend(item);
    }
    Ok(())
}

/// A bundle that lists the locales of its folder, with those alone that are kept. It is a tree of tables; the one of the locales has
/// 16-bit places of keys, then as many values, which are all the same. What follows it stays where it is.
fn index(bundle: &[u8]) -> Result<Vec<u8>> {
    let start = usize::from(u16_at(bundle, 0)?);
    let body = bundle.get(start..).context("a cut list of locales")?;
    let halves = 4 * u32_at(body, 8)?;
    let (kind, root) = resource(u32_at(body, 0)?);
    ensure!(kind == 2, "a list of locales of another form");
    let (root, count) = (4 * root, usize::from(u16_at(body, 4 * root)?));
    let values = root + (2 + 2 * count).next_multiple_of(4);
    let mut number = None;
    for entry in 0..count {
        if text_at(body, usize::from(u16_at(body, root + 2 + 2 * entry)?))? == "InstalledLocales" {
            number = Some(entry);
        }
    }
    let number = number.context("a list of locales without them")?;
    let (kind, table) = resource(u32_at(body, values + 4 * number)?);
    ensure!(kind == 5, "a list of locales of another form");
    let table = halves + 2 * table;
    let count = usize::from(u16_at(body, table)?);
    let (mut keys, mut marks) = (Vec::new(), Vec::new());
    for entry in 0..count {
        let key = u16_at(body, table + 2 + 2 * entry)?;
        if is_kept_locale(text_at(body, usize::from(key))?) {
            keys.push(key);
            marks.push(u16_at(body, table + 2 + 2 * (count + entry))?);
        }
    }
    let mut written = bundle.to_vec();
    let mut at = start + table;
    for half in [u16::try_from(keys.len())?].iter().chain(&keys).chain(&marks) {
        written[at..at + 2].copy_from_slice(&half.to_le_bytes());
        at += 2;
    }
    Ok(written)
}

/// Kind and place of a value in a bundle.
fn resource(word: usize) -> (usize, usize) {
    (word >> 28, word & 0x0fff_ffff)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16> {
    let field = bytes.get(at..at + 2).context("a cut file of ICU's data")?;
    Ok(u16::from_le_bytes(field.try_into()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<usize> {
    let field = bytes.get(at..at + 4).context("a cut file of ICU's data")?;
    Ok(usize::try_from(u32::from_le_bytes(field.try_into()?))?)
}

/// The text that ends with a zero.
fn text_at(bytes: &[u8], at: usize) -> Result<&str> {
    let rest = bytes.get(at..).context("a cut file of ICU's data")?;
    let end = rest.iter().position(|byte| *byte == 0).context("a text without its end")?;
    Ok(std::str::from_utf8(&rest[..end])?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_languages_are_those_of_javascript() {
        let packer = include_str!("../../../../../guests/javascript/cldr/pack.mjs");
        let listed = packer.split("const languages =").nth(1).and_then(|rest| rest.split('\'').nth(1));
        let ours: Vec<&str> = LANGUAGES.split_whitespace().collect();
        let theirs: Vec<&str> = listed.expect("a list").split_whitespace().collect();
        assert_eq!(ours[..ours.len() - 4], theirs);
    }

    #[test]
    fn locales_charsets_and_what_is_neither() {
        for kept in [
            "zh_Hant_TW.res",
            "coll/de.res",
            "pool.res",
            "curr/root.res",
            "zoneinfo64.res",
            "res_index.res",
            "curr/res_index.res",
            "small.cnv",
            "x.nrm",
        ] {
            assert!(is_kept(kept, 100), "{kept}");
        }
        assert!(is_kept("gb18030-2022.cnv", 1 << 20));
        for dropped in ["yo.res", "curr/zu_ZA.res", "brkitr/laodict.dict", "rfc3491.spp"] {
            assert!(!is_kept(dropped, 100), "{dropped}");
        }
        assert!(!is_kept("euc-tw-2014.cnv", 1 << 20));
    }

    #[test]
    fn a_package_is_read_as_it_is_written() {
        let mut package = vec![0; 16];
        package[0] = 16;
        package[12..].copy_from_slice(b"CmnD");
        write(
            &[("x/de.res", b"one".to_vec()), ("x/yo.res", b"two".to_vec()), ("x/z.nrm", b"three".to_vec())],
            &mut package,
        )
        .expect("small");
        let written = reduced(&package).expect("a package");
        let found = items(&written[16..]).expect("a package");
        let names: Vec<_> = found.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["x/de.res", "x/z.nrm"]);
        assert!(found[0].1.starts_with(b"one") && found[1].1 == b"three");
        assert!(reduced(&package[..20]).is_err());
    }
}
