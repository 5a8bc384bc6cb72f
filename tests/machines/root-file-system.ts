/** Creates minimal systems for tests with debootstrap, from the host's package mirror. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface System {
  readonly name: string
  readonly origin: 'Debian' | 'Ubuntu'
  readonly codename: string
}

export const systems = {
  debian12: { name: 'Debian 12', origin: 'Debian', codename: 'bookworm' },
  debian13: { name: 'Debian 13', origin: 'Debian', codename: 'trixie' },
  ubuntu2404: { name: 'Ubuntu 24.04', origin: 'Ubuntu', codename: 'noble' },
} as const satisfies Readonly<Record<string, System>>

/** The first archive of this origin in apt's sources; undefined if there is none. */
export async function mirrorOf({ origin }: System): Promise<string | undefined> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', '$(ORIGIN) $(COMPONENT) $(REPO_URI)'])
  const uris = stdout.split('\n').flatMap(line => {
    const [from, component, uri] = line.split(' ')
    return from === origin && component === 'main' && uri !== undefined ? [uri] : []
  })
  return uris.find(uri => !uri.includes('security'))
}

/** debootstrap's `minbase` variant: essential packages and apt. */
export async function makeRootFileSystem(system: System, mirror: string, folder: string): Promise<void> {
  await run('debootstrap', [...flags(system), system.codename, folder, mirror], {
    maxBuffer: 64 * 1_024 * 1_024,
  })
}

/** One debootstrap script works for all releases of an origin; older versions do not know newer releases. */
function flags({ origin }: System): readonly string[] {
  const components = origin === 'Ubuntu' ? ['--components=main,universe'] : []
  return ['--variant=minbase', ...components]
}
