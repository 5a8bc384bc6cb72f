/**
 * Atomic updates of volume content: readers see either all old files or all new ones. Files are in a
 * timestamped directory, `..data` is a symlink to it that is replaced atomically, and the visible names are
 * symlinks through `..data`.
 */
import { join } from 'node:path'
import { formatTime } from '#/api/text/time.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { cleanPayload, topNames, type Payload, type PayloadFile } from './payload.ts'

export interface AtomicWrite {
  readonly platform: Platform
  readonly linux: Linux
  /** The volume's directory, which exists. */
  readonly folder: string
  readonly payload: Payload
  /** Called when all files are written, before they become visible. */
  readonly setOwners: () => Promise<void>
}

const dataName = '..data'
const newDataName = '..data_tmp'

export async function writeAtomically(content: AtomicWrite): Promise<void> {
  const payload = cleanPayload(content.payload)
  const { folder } = content
  const old = await currentFolder(content)
  const isOld = old !== undefined && (await isOnDisk(content, join(folder, old), payload))
  const current = isOld ? old : await writeNew(content, payload)
  await showNames(content, topNames(payload))
  await removeOthers(content, current)
}

/** True if the volume has been written completely before. */
export async function hasContent(linux: Linux, folder: string): Promise<boolean> {
  return (await linux.files.lstat(join(folder, dataName))) !== undefined
}

async function currentFolder({ linux, folder }: AtomicWrite): Promise<string | undefined> {
  const path = join(folder, dataName)
  return (await linux.files.lstat(path)) === undefined ? undefined : linux.files.readLink(path)
}

async function writeNew(content: AtomicWrite, payload: Payload): Promise<string> {
  const { platform, linux, folder, setOwners } = content
  const name = folderName(platform)
  const made = new Set<string>()
  const make = async (path: string): Promise<void> => {
    if (made.has(path)) return
    made.add(path)
    await linux.files.makeFolderUnsynced(path, 0o755)
  }
  await make(join(folder, name))
  for (const [path, file] of payload) {
    const parts = path.split('/').slice(0, -1)
    for (const [index] of parts.entries()) await make(join(folder, name, ...parts.slice(0, index + 1)))
    await writeFile(linux, join(folder, name, path), file)
  }
  await setOwners()
  // Possibly left by a crash.
  await platform.files.remove(join(folder, newDataName))
  await linux.files.symlink(name, join(folder, newDataName))
  await linux.files.renameUnsynced(join(folder, newDataName), join(folder, dataName))
  return name
}

async function writeFile(linux: Linux, path: string, file: PayloadFile): Promise<void> {
  await linux.files.writeUnsynced(path, bytesOf(file), file.mode)
  if (file.uid !== undefined) await linux.files.chown(path, file.uid, -1)
}

/** Such as `..2026_02_01_15_04_05.1234567890`. */
function folderName({ clock, random }: Platform): string {
  const time = formatTime(clock.now()).replace('Z', '').replaceAll(/[-T:]/g, '_')
  return `..${time}.${random.integer('name of a volume content', 2 ** 32)}`
}

/** Modes are not compared: they can only change with the spec, and thus with the pod. */
async function isOnDisk(
  { platform, linux }: AtomicWrite,
  folder: string,
  payload: Payload,
): Promise<boolean> {
  let files = 0
  try {
    for (const [path, file] of payload) {
      const found = await platform.files.read(join(folder, path))
      if (!Buffer.from(found).equals(bytesOf(file))) return false
    }
    await linux.files.visitBeneath(folder, async (_, { type }) => {
      if (type !== 'folder') files += 1
    })
  } catch {
    return false
  }
  return files === payload.size
}

function bytesOf({ content, encoding }: PayloadFile): Buffer {
  return Buffer.from(content, encoding)
}

/** Existing directories are mount points of other volumes. */
async function showNames(
  { platform, linux, folder }: AtomicWrite,
  names: ReadonlySet<string>,
): Promise<void> {
  for (const name of names) {
    const path = join(folder, name)
    const target = join(dataName, name)
    const status = await linux.files.lstat(path)
    if (status === undefined) await linux.files.symlink(target, path)
    else if (status.type !== 'link') throw new Error(`cannot create symlink ${name}: path is a mount point`)
  }
  for (const name of await platform.files.list(folder)) {
    if (name.startsWith('..') || names.has(name)) continue
    const path = join(folder, name)
    if ((await linux.files.lstat(path))?.type === 'link') await platform.files.remove(path)
  }
}

/** Removes previous content and leftovers of crashes. */
async function removeOthers({ platform, folder }: AtomicWrite, current: string): Promise<void> {
  for (const name of await platform.files.list(folder)) {
    if (name.startsWith('..') && name !== dataName && name !== current) {
      await platform.files.remove(join(folder, name))
    }
  }
}
