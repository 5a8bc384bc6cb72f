/**
 * Operations on the machine that only a node needs: files with owners, links and in-place writes, mounts,
 * cgroups, machine information and usage. Linux only; some operations require root. Errors have Node's
 * `code`: ENOENT, EBUSY and so on.
 */
export interface Linux {
  readonly files: LinuxFiles
  readonly mounts: Mounts
  readonly machine: HostInfo
  /**
   * Runs a short command. On failure the error includes its output and has its `exitCode`, the signal that it was
   * `killedBy` unless it has timed out, or Node's `code` if there is no such program.
   */
  run(command: readonly string[], options?: RunOptions): Promise<string>
}

export interface RunOptions {
  readonly stdin?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface LinuxFiles {
  /** Undefined if nothing exists at the path. Does not follow links. */
  lstat(path: string): Promise<LinuxFileStatus | undefined>
  /** Like `lstat`, but follows links. */
  stat(path: string): Promise<LinuxFileStatus | undefined>
  /** Overwrites an existing file without replacing it: cgroup files, sysctls. */
  writeInPlace(path: string, content: string): Promise<void>
  /** Neither atomic nor synced: for files that are recreated after a crash anyway. */
  writeUnsynced(path: string, content: Uint8Array | string, mode: number): Promise<void>
  /**
   * Creates missing parents too; not synced. An existing folder is left unchanged. The mode applies to the
   * last component.
   */
  makeFolderUnsynced(path: string, mode: number): Promise<void>
  /** Atomic for readers, but not synced. */
  renameUnsynced(from: string, to: string): Promise<void>
  symlink(target: string, path: string): Promise<void>
  readLink(path: string): Promise<string>
  /** Resolves all links, as in the mount table. */
  realPath(path: string): Promise<string>
  /** Does not follow links. -1 leaves an ID unchanged. */
  chown(path: string, uid: number, gid: number): Promise<void>
  /** Does not follow links: a link is an error with `code: 'ELOOP'`. */
  chmod(path: string, mode: number): Promise<void>
  /** Fails if the folder is not empty. The only way to remove a cgroup. */
  removeFolder(path: string): Promise<void>
  /**
   * Removes a file, or a folder recursively; does nothing if the path does not exist. Does not follow links.
   * If anything is mounted at or below the path, nothing is removed and the error has `code: 'EBUSY'`.
   */
  removeTree(path: string): Promise<void>
  /** Reads up to `length` bytes from `offset`, fewer at the end of the file. For files that grow. */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>
  /** Names of changed entries of a folder, or changes of a file. Ends when aborted. */
  watch(path: string, signal: AbortSignal): AsyncIterable<string | undefined>
  /** Of the filesystem of the path. */
  space(path: string): Promise<FilesystemSpace>
  /** Bytes and inodes of a folder tree, without other filesystems mounted below it. */
  usage(path: string, signal?: AbortSignal): Promise<{ readonly bytes: number; readonly inodes: number }>
  /**
   * Opens `path` below `root` and returns a path to exactly that file, valid until disposed. Links that stay
   * below `root` are followed, safely against concurrent changes. A link that leaves `root`, an absolute link
   * or a link loop is an error with `code: 'ELOOP'`.
   */
  openBeneath(root: string, path: string): Promise<OpenPath>
  /** Creates the missing folders of `path` below `root`, following links like `openBeneath`. */
  makeFoldersBeneath(root: string, path: string, mode: number): Promise<void>
  /**
   * Visits a folder tree, parents first. The visited path stays bound to the inspected file despite
   * concurrent changes above it, so that `chown` and `chmod` on it never affect files outside. Entries
   * removed meanwhile are skipped. A tree deeper than a few hundred levels is an error with `code:
   * 'ENAMETOOLONG'`.
   */
  visitBeneath(root: string, visit: Visit, signal?: AbortSignal): Promise<void>
}

export type Visit = (path: string, status: LinuxFileStatus) => Promise<void>

export interface OpenPath extends AsyncDisposable {
  readonly path: string
  readonly isFolder: boolean
}

export type LinuxFileType =
  | 'file'
  | 'folder'
  | 'link'
  | 'socket'
  | 'character-device'
  | 'block-device'
  | 'pipe'

export interface LinuxFileStatus {
  readonly type: LinuxFileType
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly sizeBytes: number
  readonly inode: bigint
  readonly device: bigint
}

export interface FilesystemSpace {
  readonly totalBytes: number
  readonly availableBytes: number
  readonly totalInodes: number
  readonly freeInodes: number
}

export interface Mounts {
  /** The mounts of this process, in the order of mounting. */
  list(): Promise<readonly MountPoint[]>
  bind(source: string, target: string, options?: { readonly readonly?: boolean }): Promise<void>
  tmpfs(target: string, options?: { readonly sizeBytes?: number; readonly mode?: number }): Promise<void>
  mount(options: MountOptions): Promise<void>
  /** Makes mount propagation below the folder bidirectional (shared). */
  makeShared(path: string): Promise<void>
  /** Does nothing if nothing is mounted. A busy mount is detached lazily. */
  unmount(path: string): Promise<void>
}

export interface MountOptions {
  readonly source: string
  readonly target: string
  readonly type: string
  readonly flags: readonly string[]
}

export interface MountPoint {
  readonly path: string
  readonly type: string
  readonly source: string
}

export interface HostInfo {
  readonly isRoot: boolean
  readonly processors: number
  readonly memoryBytes: number
  readonly architecture: 'amd64' | 'arm64' | 'arm' | 's390x' | 'ppc64le'
  readonly kernelVersion: string
  /** For example `Debian GNU/Linux 12 (bookworm)`. */
  readonly osImage: string
  readonly machineId: string
  readonly bootId: string
  readonly systemUuid: string
  readonly hostname: string
  readonly cgroupVersion: 1 | 2
  /** True if systemd is the init system. */
  readonly hasSystemd: boolean
  readonly swapBytes: number
}
