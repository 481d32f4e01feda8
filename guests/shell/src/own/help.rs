//! `--help` of our own commands: what they know, which is less than GNU's.

use bashkit::{Builtin, BuiltinContext, ExecResult, ExecutionPlan, Result, async_trait};

/// A command that answers `--help` with a text.
pub(super) struct Helped {
    pub(super) text: &'static str,
    pub(super) command: Box<dyn Builtin>,
}

#[async_trait]
impl Builtin for Helped {
    async fn execute(&self, context: BuiltinContext<'_>) -> Result<ExecResult> {
        let mut options = context.args.iter().take_while(|word| *word != "--");
        if options.any(|word| word == "--help") {
            return Ok(ExecResult::ok(self.text));
        }
        self.command.execute(context).await
    }

    async fn execution_plan(&self, context: &BuiltinContext<'_>) -> Result<Option<ExecutionPlan>> {
        self.command.execution_plan(context).await
    }

    fn llm_hint(&self) -> Option<&'static str> {
        self.command.llm_hint()
    }
}

pub(super) const BC: &str = "\
Usage: bc [OPTION]... [FILE]...
Calculate with numbers of any size, as the lines of each FILE and then of standard input say.

  -l, --mathlib    define s, c, a, l and e, and set scale to 20
  -q, --quiet      do nothing; there is no welcome to leave out
  -s, --standard   do nothing
  -w, --warn       do nothing
  -v, --version    output version information and exit
      --help       display this help and exit
";

pub(super) const CHMOD: &str = "\
Usage: chmod [OPTION]... MODE[,MODE]... FILE...
Change the mode of each FILE to MODE, such as 644, u+x or go-w.

  -R, --recursive  change files and folders recursively
  -v, --verbose    say what is done with every file
  -c, --changes    say what is changed
  -f, --silent     suppress most error messages
      --help       display this help and exit
";

pub(super) const CP: &str = "\
Usage: cp [OPTION]... [-T] SOURCE DEST
Usage: cp [OPTION]... SOURCE... FOLDER
Copy SOURCE to DEST, or several SOURCEs to FOLDER.

  -r, -R, --recursive         copy folders with all that is in them
  -a, --archive               the same as -dR --preserve=all
  -d                          the same as -P --preserve=links
  -P, --no-dereference        copy symbolic links themselves
  -L, --dereference           copy what symbolic links lead to
  -p, --preserve              keep modes and times
  -f, --force                 remove a target that cannot be opened
  -n, --no-clobber            replace nothing
  -u, --update                replace only what is older
  -s, --symbolic-link         make symbolic links instead of copies
  -b, --backup                keep a copy of what is replaced
  -S, --suffix=SUFFIX         the end of a backup's name
  -t, --target-directory=DIR  copy all SOURCEs to DIR
  -T, --no-target-directory   take DEST as a file
  -v, --verbose               say what is done
      --parents               use the full name of each SOURCE below the folder
      --help                  display this help and exit
";

pub(super) const DIFF: &str = "\
Usage: diff [OPTION]... FILES
Compare files line by line; folders file by file.

  -u, -U, --unified=NUM         show NUM lines of unified context, 3 unless said
  -c, -C, --context=NUM         show NUM lines of copied context, 3 unless said
  -q, --brief                   say only whether files differ
  -s, --report-identical-files  say when two files are the same
  -y, --side-by-side            show two columns
  -W, --width=NUM               columns of a line, 130 unless said
  -r, --recursive               compare folders within folders
  -N, --new-file                take a file that is missing as empty
  -x, --exclude=PATTERN         leave out what fits PATTERN
  -a, --text                    take all files as text
  -i, --ignore-case             upper and lower case are the same
  -b, --ignore-space-change     changes of the amount of space do not count
  -w, --ignore-all-space        space does not count
  -Z, --ignore-trailing-space   space at the end of a line does not count
  -B, --ignore-blank-lines      empty lines do not count
  -L, --label=LABEL             show LABEL in place of a file's name and time
      --strip-trailing-cr       a carriage return at the end of a line does not count
      --help                    display this help and exit

Exit status is 0 if the files are the same, 1 if they differ, 2 after an error.
";

pub(super) const LN: &str = "\
Usage: ln -s [OPTION]... TARGET [NAME]
Usage: ln -s [OPTION]... TARGET... FOLDER
Make symbolic links. There are no hard links.

  -s, --symbolic              make symbolic links
  -f, --force                 replace what is there
  -n, --no-dereference        take a link to a folder as a file
  -r, --relative              lead from where the link is
  -b, --backup                keep a copy of what is replaced
  -S, --suffix=SUFFIX         the end of a backup's name
  -t, --target-directory=DIR  make the links in DIR
  -T, --no-target-directory   take NAME as a file
  -v, --verbose               say what is done
      --help                  display this help and exit
";

pub(super) const LS: &str = "\
Usage: ls [OPTION]... [FILE]...
List FILEs, the working folder unless said.

  -a, --all           also names that begin with a dot
  -A, --almost-all    the same without . and ..
  -d, --directory     folders themselves, not what is in them
  -R, --recursive     folders within folders too
  -l                  one line for each with mode, owner, size and time
  -g, -o, -n          the same without owner, without group, with numbers
  -h, --human-readable  sizes such as 1K and 234M
  -s, --size          blocks of each file
  -i, --inode         numbers of files
  -t, -S, -v, -X, -U  sort by time, size, version, ending, or not at all
  -r, --reverse       in the other order
  -F, --classify      an indicator behind names
  -p                  a slash behind folders
  -L, --dereference   what symbolic links lead to
  -Q, --quote-name    names in quotes
  -m                  names with commas between them
  -1                  one name a line
      --sort=WORD     sort by size, time, version, extension, or none
      --time-style=STYLE  such as full-iso, long-iso, iso, +FORMAT
      --full-time     like -l with the whole time
      --group-directories-first  folders before files
      --help          display this help and exit
";

pub(super) const MKDIR: &str = "\
Usage: mkdir [OPTION]... FOLDER...
Make each FOLDER.

  -p, --parents    also the folders above it; none is an error if it is there
  -m, --mode=MODE  with this mode
  -v, --verbose    say what is done
      --help       display this help and exit
";

pub(super) const MV: &str = "\
Usage: mv [OPTION]... [-T] SOURCE DEST
Usage: mv [OPTION]... SOURCE... FOLDER
Rename SOURCE to DEST, or move SOURCEs to FOLDER.

  -f, --force                 replace without asking, as always
  -n, --no-clobber            replace nothing
  -u, --update                replace only what is older
  -b, --backup                keep a copy of what is replaced
  -S, --suffix=SUFFIX         the end of a backup's name
  -t, --target-directory=DIR  move all SOURCEs to DIR
  -T, --no-target-directory   take DEST as a file
  -v, --verbose               say what is done
      --help                  display this help and exit
";

pub(super) const PATCH: &str = "\
Usage: patch [OPTION]... [FILE [PATCH]]
Apply unified diffs to files.

  -p, --strip=NUM                 take NUM folders off names
  -i, --input=PATCH               read PATCH instead of standard input
  -R, --reverse                   undo the patch
  -N, --forward                   leave out what seems to be applied
  -f, --force                     ask nothing
  -t, --batch                     ask nothing; undo what seems to be applied
  -s, --silent, --quiet           say only errors
  -E, --remove-empty-files        remove files that end empty
  -F, --fuzz=NUM                  lines of context that may differ, 2 unless said
  -l, --ignore-whitespace         space may differ
  -o, --output=FILE               write to FILE
  -r, --reject-file=FILE          write what cannot be applied to FILE
  -d, --directory=DIR             work in DIR
  -b, --backup                    keep what files were before
  -z, --suffix=SUFFIX             the end of a backup's name, .orig unless said
      --no-backup-if-mismatch     keep nothing where context differs
      --dry-run                   change nothing
      --help                      display this help and exit
";

pub(super) const READLINK: &str = "\
Usage: readlink [OPTION]... FILE...
Print where symbolic links lead, or names without links.

  -f, --canonicalize           follow every link; all but the last part must exist
  -e, --canonicalize-existing  follow every link; all parts must exist
  -m, --canonicalize-missing   follow every link; nothing must exist
  -n, --no-newline             no newline at the end
  -q, -s, --quiet, --silent    suppress most error messages
  -v, --verbose                show error messages
  -z, --zero                   end each name with NUL
      --help                   display this help and exit
";

pub(super) const REALPATH: &str = "\
Usage: realpath [OPTION]... FILE...
Print absolute names without links; all but the last part must exist.

  -e, --canonicalize-existing  all parts must exist
  -m, --canonicalize-missing   nothing must exist
  -s, --strip, --no-symlinks   follow no links
  -L, --logical                take .. before links
  -P, --physical               take links as they come
  -q, --quiet                  suppress most error messages
  -z, --zero                   end each name with NUL
      --relative-to=DIR        as seen from DIR
      --relative-base=DIR      as seen from DIR for what is below it
      --help                   display this help and exit
";

pub(super) const RM: &str = "\
Usage: rm [OPTION]... FILE...
Remove each FILE.

  -r, -R, --recursive  remove folders with all that is in them
  -f, --force          what does not exist is no error
  -d, --dir            remove empty folders
  -v, --verbose        say what is done
      --help           display this help and exit
";

pub(super) const SPLIT: &str = "\
Usage: split [OPTION]... [FILE [PREFIX]]
Write pieces of FILE to PREFIXaa, PREFIXab, and so on; PREFIX is x unless said.

  -l, --lines=NUM              lines in each piece, 1000 unless said
  -b, --bytes=SIZE             bytes in each piece
  -C, --line-bytes=SIZE        most bytes of whole lines in each piece
  -n, --number=CHUNKS          number of pieces
  -a, --suffix-length=NUM      letters at the end of names, 2 unless said
  -d, --numeric-suffixes=FROM  digits at the end of names
  -x, --hex-suffixes=FROM      hexadecimal digits at the end of names
  -e, --elide-empty-files      write no empty pieces with -n
  -t, --separator=LETTER       what ends a line
      --additional-suffix=END  put END behind names
      --verbose                say what is written
      --help                   display this help and exit
";

pub(super) const STAT: &str = "\
Usage: stat [OPTION]... FILE...
Show what is known of each FILE.

  -c, --format=FORMAT  show FORMAT, such as '%n %s %a %Y', and a newline
      --printf=FORMAT  the same with escapes such as \\n, and no newline
  -L, --dereference    what a symbolic link leads to
  -f, --file-system    show the file system
  -t, --terse          show all on one line
      --help           display this help and exit
";

pub(super) const TAR: &str = "\
Usage: tar [OPTION]... [FILE]...
Make, list and unpack archives, compressed with gzip or bzip2 or not at all.

  -c, --create              make an archive
  -r, --append              add to the end of an archive
  -t, --list                list an archive
  -x, --extract, --get      unpack an archive
  -f, --file=ARCHIVE        the archive's name; - and none are the standard streams
  -z, --gzip, --gunzip      compress with gzip; what is read is recognized
  -j, --bzip2               compress with bzip2; what is read is recognized
  -a, --auto-compress       compress as the archive's name ends
  -C, --directory=DIR       work in DIR
  -v, --verbose             show what is done
  -O, --to-stdout           unpack to standard output
  -p, --preserve-permissions  keep modes as they are in the archive
  -m, --touch               do not keep times
  -P, --absolute-names      keep names that begin with / or have ..
  -T, --files-from=FILE     names from FILE, one a line
  -X, --exclude-from=FILE   patterns to leave out from FILE, one a line
  -h, --dereference         pack what symbolic links lead to
  -k, --keep-old-files      what is there is an error
      --skip-old-files      what is there stays
      --exclude=PATTERN     leave out what fits PATTERN
      --strip-components=NUM  take NUM folders off names
      --help                display this help and exit

Example: tar -czf archive.tgz folder; tar -xzf archive.tgz -C elsewhere
";

pub(super) const UNZIP: &str = "\
Usage: unzip [OPTION]... ARCHIVE[.zip] [NAME]... [-x PATTERN] [-d FOLDER]
Unpack a zip archive, or those of its entries that fit a NAME.

  -d FOLDER    unpack to FOLDER
  -x PATTERN   leave out what fits PATTERN
  -o           replace what is there
  -n           keep what is there
  -j           without folders
  -l, -v       list the archive
  -t           test the archive
  -p, -c       write to standard output
  -q           say only errors
      --help   display this help and exit
";

pub(super) const ZIP: &str = "\
Usage: zip [OPTION]... ARCHIVE[.zip] FILE... [-x PATTERN...]
Make a zip archive, or add to one.

  -r, --recurse-paths   folders with all that is in them
  -x, --exclude         leave out what fits the patterns that follow
  -j, --junk-paths      names without folders
  -y, --symlinks        symbolic links as links, not what they lead to
  -D, --no-dir-entries  no entries for folders
  -0, -1, -6, -9        store only, compress faster, as usual, better
  -q, --quiet           say only errors
      --help            display this help and exit
";
