/** The package as its users get it: built and packed from a tree, and unpacked below `node_modules` of a project. */
import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

export interface PackedFiles {
  /** Path of the archive. */
  readonly archive: string
  /** Paths in it. */
  readonly files: readonly string[]
}

/** Builds the tree, which has its `node_modules`, and packs it into the folder. */
export async function packTree(tree: string, folder: string): Promise<PackedFiles> {
  await mkdir(folder, { recursive: true })
  await runProgram('node', ['--disable-warning=ExperimentalWarning', 'tools/build-package.ts'], tree)
  const output = await runProgram(
    'npm',
    ['pack', '--ignore-scripts', '--json', '--pack-destination', folder],
    tree,
  )
  const [{ filename, files } = { filename: '', files: [] }] = Object.values(JSON.parse(output)) as {
    readonly filename: string
    readonly files: readonly { readonly path: string }[]
  }[]
  return { archive: join(folder, filename), files: files.map(({ path }) => path) }
}

export interface InstallOptions {
  readonly archive: string
  /** The project; created when missing. */
  readonly project: string
  /** Dependencies are linked from here, so that nothing is downloaded. */
  readonly nodeModules: string
  /** Instead of that of the package. */
  readonly version?: string
}

/** Resolves to the path of the program `k8ts`. */
export async function installPackage(options: InstallOptions): Promise<string> {
  const { archive, project, nodeModules, version } = options
  const installed = join(project, 'node_modules', 'k8ts')
  await mkdir(installed, { recursive: true })
  await runProgram('tar', ['-xzf', archive, '--strip-components=1', '-C', installed], project)
  const manifestPath = join(installed, 'package.json')
  const manifest = JSON.parse(await readFile(manifestPath, 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  if (version !== undefined) await writeFile(manifestPath, JSON.stringify({ ...manifest, version }))
  for (const name of Object.keys(manifest.dependencies)) await linkModule({ project, nodeModules, name })
  return join(installed, 'k8ts')
}

export async function linkModule({
  project,
  nodeModules,
  name,
}: Pick<InstallOptions, 'project' | 'nodeModules'> & { readonly name: string }): Promise<void> {
  const link = join(project, 'node_modules', name)
  await mkdir(dirname(link), { recursive: true })
  if (!(await readdir(dirname(link))).includes(link.slice(dirname(link).length + 1)))
    await symlink(join(nodeModules, name), link)
}

/** With this Node first in the path. Resolves to the output; a failure includes all of it. */
export async function runProgram(
  program: string,
  parameters: readonly string[],
  cwd: string,
): Promise<string> {
  const { NODE_TEST_CONTEXT: _context, ...environment } = process.env
  const env = { ...environment, PATH: `${dirname(process.execPath)}:${environment['PATH']}` }
  try {
    const { stdout } = await promisify(execFile)(program, parameters, { cwd, env, maxBuffer: 2 ** 26 })
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { readonly stdout?: string; readonly stderr?: string }
    throw new Error(`${program} ${parameters.join(' ')} failed\n${stdout}\n${stderr}`, { cause: error })
  }
}
