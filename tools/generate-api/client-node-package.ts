/**
 * The folder of the npm package `@kubernetes/client-node`. `npm ci` installs it with the development
 * dependencies. Without them only its tarball is downloaded, since the generator reads its files as text and
 * needs none of its dependencies.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

const name = '@kubernetes/client-node'

export function clientNodePackage(root: string): string {
  const installed = join(root, 'node_modules', name)
  if (existsSync(installed)) return installed
  const { version, integrity } = lockedPackage(root)
  const folder = join(root, '.cache', `client-node-${version}`)
  if (!existsSync(folder)) unpackTarball({ version, integrity, folder })
  return folder
}

interface LockedPackage {
  readonly version: string
  readonly integrity: string
}

function lockedPackage(root: string): LockedPackage {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, LockedPackage>>
  }
  const locked = lock.packages[`node_modules/${name}`]
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`)
  return locked
}

/** The folder is created atomically. */
function unpackTarball({ version, integrity, folder }: LockedPackage & { readonly folder: string }): void {
  mkdirSync(join(folder, '..'), { recursive: true })
  const temporary = mkdtempSync(`${folder}-`)
  try {
    const parameters = ['pack', '--silent', '--pack-destination', temporary, `${name}@${version}`]
    const tarball = join(temporary, execFileSync('npm', parameters, { encoding: 'utf8' }).trim())
    const digest = createHash('sha512').update(readFileSync(tarball)).digest('base64')
    if (integrity !== `sha512-${digest}`)
      throw new Error(`${name}@${version} is not what package-lock.json names`)
    execFileSync('tar', ['-xzf', tarball, '-C', temporary])
    renameSync(join(temporary, 'package'), folder)
  } finally {
    rmSync(temporary, { recursive: true })
  }
}
