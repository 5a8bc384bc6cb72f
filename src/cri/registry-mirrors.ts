/**
 * Mirrors of registries, as `k8ts up --registry-mirror` names them, in containerd's terms: a `hosts.toml` for each
 * registry, which containerd reads at each pull. A file that begins with our first line belongs to the flag: each start
 * rewrites or removes it. Every other file in the folder belongs to the user and is never touched.
 * https://github.com/containerd/containerd/blob/main/docs/hosts.md
 */
import { join } from 'node:path/posix'
import { UsageError } from '#/base/flags.ts'
import type { Files } from '#/platform/platform.ts'

export interface RegistryMirror {
  /** The registry in the names of images, with the port where they have one; `_default` is every other registry. */
  readonly host: string
  /** Without a slash at its end. */
  readonly url: string
}

/** Reads `HOST=URL`. Throws UsageError. */
export function parseRegistryMirror(text: string): RegistryMirror {
  const [, host = '', address = ''] = /^([^=]*)=(.*)$/.exec(text) ?? []
  if (host === '' || address === '') {
    throw new UsageError(`${text} is not HOST=URL, as in docker.io=https://mirror.example.com`)
  }
  if (host !== '_default' && !isRegistry(host)) {
    throw new UsageError(`${host} is not a registry: use a name such as docker.io, HOST:PORT, or _default`)
  }
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`${address} is not a URL that begins with http:// or https://`)
  }
  if (url.username + url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new UsageError(`${address} may have a host, a port and a path, and nothing else`)
  }
  return { host, url: `${url.origin}${url.pathname.replace(/\/+$/, '')}` }
}

/** What the first part of an image's name must look like to be a registry: it has a dot or a port, or is localhost. */
function isRegistry(host: string): boolean {
  const [, name = '', port] = registryForm.exec(host) ?? []
  if (port !== undefined && Number(port) >= 2 ** 16) return false
  return (
    name.startsWith('[') || name.includes('.') || name === 'localhost' || (name !== '' && port !== undefined)
  )
}

const label = '[a-z0-9](?:[a-z0-9-]*[a-z0-9])?'
const registryForm = new RegExp(`^(${label}(?:\\.${label})*|\\[[0-9a-f:]+\\])(?::(\\d{1,5}))?$`, 'i')

/** The mirrors of one registry, tried in order; after them containerd asks the registry itself. */
export function hostsToml(urls: readonly string[]): string {
  return [`${firstLine}\n`, ...new Set(urls.map(mirrorSection))].join('\n')
}

function mirrorSection(url: string): string {
  // containerd appends /v2 to a path unless it is told that the path has it already.
  const isWhole = /\/v2\//.test(new URL(url).pathname)
  const settings = ['capabilities = ["pull", "resolve"]', ...(isWhole ? ['override_path = true'] : [])]
  return `[host.${JSON.stringify(url)}]\n${settings.map(setting => `  ${setting}\n`).join('')}`
}

const mark = '# Written by k8ts up --registry-mirror'
const firstLine = `${mark}, which replaces this file at each start. Without this line the file is yours.`

/** A folder below containerd's `certs.d`. */
export interface RegistryFolder {
  readonly name: string
  /** Names of all files in it. */
  readonly files: readonly string[]
  /** The text of its hosts.toml. */
  readonly hostsToml?: string
}

export type RegistryMirrorPlan =
  | { readonly write: ReadonlyMap<string, string>; readonly remove: readonly string[] }
  /** A registry that is to have mirrors, and the file of a user that says something else of it. */
  | { readonly host: string; readonly conflict: string }

/** Paths are below `certs.d`. */
export function planRegistryMirrors(
  mirrors: readonly RegistryMirror[],
  folders: readonly RegistryFolder[],
): RegistryMirrorPlan {
  const byHost = Map.groupBy(mirrors, mirror => mirror.host)
  for (const host of byHost.keys()) {
    const own = folders.filter(({ name }) => name === host || name === otherName(host))
    const [conflict] = own.flatMap(usersFiles)
    if (conflict !== undefined) return { host, conflict }
  }
  const write = new Map<string, string>()
  for (const [host, those] of byHost) {
    const text = hostsToml(those.map(({ url }) => url))
    if (folders.find(({ name }) => name === host)?.hostsToml !== text) write.set(`${host}/hosts.toml`, text)
  }
  const remove = folders.filter(folder => isOurs(folder) && !byHost.has(folder.name))
  return { write, remove: remove.map(({ name, files }) => (files.length > 1 ? `${name}/hosts.toml` : name)) }
}

/** Certificates count too: containerd does not look at them where there is a hosts.toml. */
function usersFiles(folder: RegistryFolder): readonly string[] {
  const { name, files } = folder
  return files
    .filter(file => file !== 'hosts.toml' || !isOurs(folder))
    .toSorted((one, other) => Number(other === 'hosts.toml') - Number(one === 'hosts.toml'))
    .map(file => `${name}/${file}`)
}

function isOurs({ hostsToml: text }: RegistryFolder): boolean {
  return text !== undefined && text.startsWith(mark)
}

/** The name that containerd looks for first when a registry has a port. */
function otherName(host: string): string {
  return host.replace(/:(\d+)$/, '_$1_')
}

export interface EnsureRegistryMirrors {
  readonly files: Files
  /** containerd's `certs.d`; it need not exist. */
  readonly folder: string
  readonly mirrors: readonly RegistryMirror[]
}

/** Throws Error that names the file when a registry has a file of the user's; then nothing has been changed. */
export async function ensureRegistryMirrors({
  files,
  folder,
  mirrors,
}: EnsureRegistryMirrors): Promise<void> {
  const plan = planRegistryMirrors(mirrors, await readFolders(files, folder))
  if ('conflict' in plan) {
    const path = join(folder, plan.conflict)
    const wayOut = 'remove that file, or leave the flag out and add the mirror to the file'
    throw new Error(`--registry-mirror ${plan.host}: ${path} was not written by this flag: ${wayOut}`)
  }
  for (const [path, text] of plan.write) {
    await files.makeFolder(join(folder, path, '..'))
    await files.write(join(folder, path), text, { mode: 0o644 })
  }
  for (const path of plan.remove) await files.remove(join(folder, path))
}

async function readFolders(files: Files, folder: string): Promise<readonly RegistryFolder[]> {
  if ((await files.stat(folder)) === undefined) return []
  const folders: RegistryFolder[] = []
  for (const name of await files.list(folder)) {
    const path = join(folder, name)
    if (!(await files.stat(path))?.isFolder) continue
    const names = await files.list(path)
    const text = names.includes('hosts.toml') && (await files.read(join(path, 'hosts.toml')))
    folders.push({ name, files: names, ...(text && { hostsToml: Buffer.from(text).toString() }) })
  }
  return folders
}
