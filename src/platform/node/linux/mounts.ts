import { readFile, realpath } from 'node:fs/promises'
import type { MountOptions, MountPoint, Mounts } from '../../linux.ts'
import { run } from './run.ts'

export function linuxMounts(): Mounts {
  return { list, bind, tmpfs, mount, makeShared, unmount }
}

async function list(): Promise<readonly MountPoint[]> {
  return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'))
}

/** One line per mount: `36 35 98:0 /root /mount/point options optional... - type source options`. */
export function parseMountInfo(text: string): readonly MountPoint[] {
  const points: MountPoint[] = []
  for (const line of text.split('\n')) {
    const [before, after] = line.split(' - ')
    if (before === undefined || after === undefined) continue
    const [type = '', source = ''] = after.split(' ')
    points.push({ path: unescape(before.split(' ')[4] ?? ''), type, source: unescape(source) })
  }
  return points
}

/** The kernel escapes spaces, tabs, line breaks and backslashes as octal numbers. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)))
}

/** A source such as `/proc/1/fd/7` refers to the open file: `mount` must not resolve it to a path. */
const program = ['mount', '--no-canonicalize', '--no-mtab']

async function bind(
  source: string,
  target: string,
  options: { readonly readonly?: boolean } = {},
): Promise<void> {
  const flags = options.readonly ? ['-o', 'ro'] : []
  await run([...program, '--bind', ...flags, '--', source, await realpath(target)])
}

async function tmpfs(
  target: string,
  options: { readonly sizeBytes?: number; readonly mode?: number } = {},
): Promise<void> {
  const { sizeBytes, mode } = options
  const flags = [
    ...(sizeBytes === undefined ? [] : [`size=${sizeBytes}`]),
    ...(mode === undefined ? [] : [`mode=${mode.toString(8)}`]),
  ]
  await mount({ source: 'tmpfs', target, type: 'tmpfs', flags })
}

async function mount({ source, target, type, flags }: MountOptions): Promise<void> {
  const options = flags.length > 0 ? ['-o', flags.join(',')] : []
  await run([...program, '-t', type, ...options, '--', source, await realpath(target)])
}

async function makeShared(path: string): Promise<void> {
  const target = await realpath(path)
  if (!(await isMounted(target))) await bind(target, target)
  await run([...program, '--make-rshared', target])
}

/** Maximum mounts stacked at one path; more indicate a loop. */
const hiddenMax = 64

async function unmount(path: string): Promise<void> {
  const target = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    // A path that does not exist, or a mount that does not respond, is used as given.
    return error.code === 'ELOOP' ? Promise.reject(error) : path
  })
  for (let tries = 0; tries < hiddenMax; tries += 1) {
    if (!(await isMounted(target))) return
    try {
      await run(['umount', '--no-canonicalize', '--no-mtab', '--', target])
    } catch {
      await run(['umount', '--no-canonicalize', '--no-mtab', '--lazy', '--', target])
    }
  }
}

async function isMounted(path: string): Promise<boolean> {
  return (await list()).some(each => each.path === path)
}
