/** The shared libraries that a program of this machine needs, and where an image has them. */
import { dirname, join } from 'node:path/posix'
import { messageOf } from '#/base/message-of.ts'
import type { Linux } from '#/platform/linux.ts'

export interface SharedLibrary {
  /** In the image, relative to its root. */
  readonly path: string
  /** On this machine. */
  readonly source: string
}

export interface ReadPrograms {
  readonly run: Linux['run']
  readonly files: Pick<Linux['files'], 'stat'>
}

/** Empty for a program that is linked statically. */
export async function readSharedLibraries(
  { run, files }: ReadPrograms,
  program: string,
): Promise<readonly SharedLibrary[]> {
  const libraries = parseSharedLibraries(await runLdd(run, program), program)
  const libc = libraries.find(({ path }) => path.endsWith('/libc.so.6'))
  if (libc === undefined) return libraries
  const resolvers = resolverLibraries.map(name => sharedLibrary(name, join(dirname(libc.source), name)))
  const found = await Promise.all(resolvers.map(async each => (await files.stat(each.source)) && each))
  return [...libraries, ...found.filter(each => each !== undefined)]
}

/** Before glibc 2.34 it loads them when it resolves the first host name; `ldd` does not list them. */
const resolverLibraries = ['libnss_dns.so.2', 'libnss_files.so.2', 'libresolv.so.2']

async function runLdd(run: Linux['run'], program: string): Promise<string> {
  try {
    return await run(['ldd', program])
  } catch (cause) {
    if (/not a (valid )?dynamic/i.test(messageOf(cause))) return ''
    throw new Error(`cannot read the shared libraries of ${program}: ${messageOf(cause)}`, { cause })
  }
}

/**
 * From the output of `ldd`. The dynamic loader keeps its path, which is part of the program. All others are in one
 * folder by the names under which they are looked up, wherever this machine has them.
 */
export function parseSharedLibraries(output: string, program: string): readonly SharedLibrary[] {
  const libraries: SharedLibrary[] = []
  for (const line of output.split('\n')) {
    const { name = '', found } = linePattern.exec(line)?.groups ?? {}
    if (found === 'not found') throw new Error(`${program} needs ${name}, which is not installed`)
    if (name.startsWith('/')) libraries.push({ path: name.slice(1), source: found ?? name })
    else if (found?.startsWith('/')) libraries.push(sharedLibrary(name, found))
  }
  return libraries
}

/** `libm.so.6 => /lib/libm.so.6 (0x7f31)` */
const linePattern = /^\s*(?<name>\S+)(?: => (?<found>.+?))?(?: \(0x[0-9a-f]+\))?$/

function sharedLibrary(name: string, source: string): SharedLibrary {
  return { path: `usr/local/lib/${name}`, source }
}
