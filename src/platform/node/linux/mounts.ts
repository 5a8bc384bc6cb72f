import { readFile, realpath } from 'node:fs/promises'
import type { MountOptions, MountPoint, Mounts } from '../../linux.ts'
import { run } from './run.ts'

export function linuxMounts(): Mounts {
  return { list, bind, tmpfs, mount, makeShared, unmount }
}

async function list(): Promise<readonly MountPoint[]> {
  return parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'))
}

/** One line for each: `36 35 98:0 /root /mount/point options optional... - type source options`. */
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

/** The kernel writes spaces, tabs, line ends and backslashes as octal numbers. */
function unescape(text: string): string {
  if (!text.includes('\\')) return text
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)))
}

/** A source such as `/proc/1/fd/7` means what is open there: the program must not look at what it links to. */
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

/** One mount may hide another at the same place; more than that is nobody's doing but a loop of ours. */
const hiddenMax = 64

async function unmount(path: string): Promise<void> {
  const target = await realpath(path).catch((error: NodeJS.ErrnoException) => {
    // Where nothing is, or where whatever is mounted does not answer, the path is taken as it is.
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
