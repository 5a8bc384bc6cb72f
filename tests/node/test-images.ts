/**
 * Images for tests with real containers, built from files of the machine without a registry. `busybox` is as
 * expected: all its programs in /bin, some users, the usual folders. Other images are built on it.
 */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { arch } from 'node:os'
import { promisify } from 'node:util'
import { ociArchive, type OciConfig } from '#/cri/oci-archive.ts'
import type { TarEntry } from '#/base/tar.ts'

export const busyboxReference = 'docker.io/library/busybox:latest'

export interface TestImage {
  /** The full reference; `docker.io/library/NAME:TAG` for `NAME:TAG` in pods. */
  readonly reference: string
  /** Added to busybox. */
  readonly files?: readonly TarEntry[]
  readonly config?: OciConfig
}

/** An archive for `loadImage`. It runs `sh` by default. */
export async function testImage({ reference, files, config }: TestImage): Promise<Uint8Array> {
  const layers = [await busyboxLayer(), ...(files ? [files] : [])]
  return ociArchive({ reference, architecture: architecture(), layers, config: { cmd: ['sh'], ...config } })
}

export function busyboxImage(): Promise<Uint8Array> {
  return testImage({ reference: busyboxReference })
}

export function textFile(path: string, text: string, mode = 0o644): TarEntry {
  return { type: 'file', path, mode, content: Buffer.from(text) }
}

const program = '/bin/busybox'

let layerOnce: Promise<readonly TarEntry[]> | undefined

function busyboxLayer(): Promise<readonly TarEntry[]> {
  layerOnce ??= makeBusyboxLayer()
  return layerOnce
}

async function makeBusyboxLayer(): Promise<readonly TarEntry[]> {
  const { stdout } = await promisify(execFile)(program, ['--list'])
  const names = stdout.split('\n').filter(name => name !== '' && name !== 'busybox')
  const content = await readFile(program)
  return [
    { type: 'file', path: 'bin/busybox', mode: 0o755, content },
    ...names.map((name): TarEntry => ({ type: 'symlink', path: `bin/${name}`, target: 'busybox' })),
    ...folders.map(([path, mode]): TarEntry => ({ type: 'folder', path, mode })),
    { type: 'symlink', path: 'usr/bin/env', target: '/bin/env' },
    textFile('etc/passwd', users),
    textFile('etc/group', groups),
    textFile('etc/nsswitch.conf', 'hosts: files dns\n'),
    textFile('var/www/index.html', 'it works\n'),
  ]
}

const folders: readonly (readonly [path: string, mode: number])[] = [
  ['dev', 0o755],
  ['home', 0o755],
  ['proc', 0o755],
  ['root', 0o700],
  ['sys', 0o755],
  ['tmp', 0o1777],
  ['usr/bin', 0o755],
  ['var/log', 0o755],
  ['var/www', 0o755],
]

const users = `root:x:0:0:root:/root:/bin/sh
daemon:x:1:1:daemon:/usr/sbin:/bin/false
www-data:x:33:33:www-data:/var/www:/bin/false
user:x:1000:1000:user:/home:/bin/sh
nobody:x:65534:65534:nobody:/home:/bin/false
`

const groups = `root:x:0:
daemon:x:1:
www-data:x:33:
users:x:100:user
user:x:1000:
extra:x:2000:user
nogroup:x:65534:
`

function architecture(): string {
  const own = arch()
  return { x64: 'amd64', ppc64: 'ppc64le' }[own as string] ?? own
}
