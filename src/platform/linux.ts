/**
 * What a node asks of its machine beside what every component does: files as the kernel has them (owners, links,
 * control files that are written in place), mounts, control groups, what the machine has and uses. Linux only, root
 * where the kernel asks for it. Errors have the `code` of Node: ENOENT, EBUSY and so on.
 */
export interface Linux {
  readonly files: LinuxFiles
  readonly mounts: Mounts
  readonly machine: MachineFacts
  /**
   * Runs a short command to its end. When it fails the error tells what it said, and has its `exitCode`, or the `code`
   * of Node when there is no such program.
   */
  run(command: readonly string[], options?: RunOptions): Promise<string>
}

export interface RunOptions {
  readonly stdin?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

export interface LinuxFiles {
  /** Undefined when nothing is there. Links are not followed. */
  lstat(path: string): Promise<LinuxFileStatus | undefined>
  /** As `lstat`, of what a link leads to. */
  stat(path: string): Promise<LinuxFileStatus | undefined>
  /** Into an existing file as it is: control groups, sysctls. */
  writeInPlace(path: string, content: string): Promise<void>
  /** Neither atomic nor synced: for files that are made anew after a crash anyway. */
  writePlain(path: string, content: Uint8Array | string, mode: number): Promise<void>
  /** With what is missing above it; not synced. One that is there stays as it is. The mode is the last one's. */
  makeFolderPlain(path: string, mode: number): Promise<void>
  /** At once for whoever reads, but not synced. */
  renamePlain(from: string, to: string): Promise<void>
  symlink(target: string, path: string): Promise<void>
  readLink(path: string): Promise<string>
  /** With every link on the way followed, as the table of mounts has it. */
  realPath(path: string): Promise<string>
  /** Links are not followed. -1 leaves it as it is. */
  chown(path: string, uid: number, gid: number): Promise<void>
  /** Links are not followed: a link is an error with `code: 'ELOOP'`. */
  chmod(path: string, mode: number): Promise<void>
  /** Fails when it is not empty. The only way to remove a control group. */
  removeFolder(path: string): Promise<void>
  /**
   * Removes a file or a folder with all that is in it, however deep; nothing there is fine. No link is followed. Where
   * something is mounted at it or below it nothing is removed, and the error has `code: 'EBUSY'`.
   */
  removeTree(path: string): Promise<void>
  /** A file that grows: up to `length` bytes from `offset`, fewer at its end. */
  readRange(path: string, offset: number, length: number): Promise<Uint8Array>
  /** What changes in a folder or a file, as it changes; names are below the folder. Ends when aborted. */
  watch(path: string, signal: AbortSignal): AsyncIterable<string | undefined>
  /** Of the filesystem that the path is on. */
  space(path: string): Promise<FilesystemSpace>
  /** Bytes and inodes of a folder and what is below it, on its own filesystem. */
  usage(path: string, signal?: AbortSignal): Promise<{ readonly bytes: number; readonly inodes: number }>
  /**
   * Opens what `path` below `root` is, and gives a path to exactly that, for as long as it is not disposed. Links
   * that stay below `root` are followed, whatever happens to them meanwhile. One that leads out of it, that is
   * absolute, or that comes to no end is an error with `code: 'ELOOP'`.
   */
  openBeneath(root: string, path: string): Promise<HeldPath>
  /** Makes the folders of `path` below `root` that are missing, following links as `openBeneath` does. */
  makeFoldersBeneath(root: string, path: string, mode: number): Promise<void>
  /**
   * Visits a folder and all that is below it, each before what is in it. The path that is given stays what was
   * looked at whatever happens above it, so that `chown` and `chmod` of it touch nothing outside. What goes away
   * meanwhile is left out. Folders nested deeper than some hundreds are an error with `code: 'ENAMETOOLONG'`.
   */
  visitBeneath(root: string, visit: Visit, signal?: AbortSignal): Promise<void>
}

export type Visit = (path: string, status: LinuxFileStatus) => Promise<void>

export interface HeldPath extends AsyncDisposable {
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
  /** Of this process, in the order in which they were made. */
  list(): Promise<readonly MountPoint[]>
  bind(source: string, target: string, options?: { readonly readonly?: boolean }): Promise<void>
  tmpfs(target: string, options?: { readonly sizeBytes?: number; readonly mode?: number }): Promise<void>
  mount(options: MountOptions): Promise<void>
  /** What is mounted inside the folder is passed on to containers and back. */
  makeShared(path: string): Promise<void>
  /** Nothing mounted there is fine. A busy one is detached. */
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

export interface MachineFacts {
  readonly isRoot: boolean
  readonly processors: number
  readonly memoryBytes: number
  readonly architecture: 'amd64' | 'arm64' | 'arm' | 's390x' | 'ppc64le'
  readonly kernelVersion: string
  /** `Debian GNU/Linux 12 (bookworm)`. */
  readonly osImage: string
  readonly machineId: string
  readonly bootId: string
  readonly systemUuid: string
  readonly hostname: string
  readonly cgroupVersion: 1 | 2
  /** Whether systemd runs the machine. */
  readonly hasSystemd: boolean
  readonly swapBytes: number
}
