/** The cases in `testdata/`, which tests read: kustomizations with what `kubectl kustomize` makes of them. */
import { nodePlatform } from '#/platform/node.ts'

/** A kustomization with what `kubectl kustomize` makes of it. The folder with its files is shown as `/ROOT`. */
export interface KustomizeCase {
  readonly name: string
  readonly title: string
  /** Content by path; `link:TARGET` is a symbolic link. */
  readonly files: ReadonlyMap<string, Uint8Array>
  /** The folder that is built. */
  readonly build: string
  readonly isUnrestricted: boolean
  readonly output: string
  /** Without the prefix `error: `. */
  readonly error: string
  readonly warnings: string
}

/** Each file is a case: a title with settings, then files, each after a line `-- path --`. */
export async function readCases(): Promise<KustomizeCase[]> {
  const folder = `${import.meta.dirname}/testdata`
  const realFiles = nodePlatform({ log: { level: 'error', format: 'text' } }).files
  const names = (await realFiles.list(folder)).filter(name => name.endsWith('.txt'))
  return Promise.all(
    names.map(async name => {
      const text = Buffer.from(await realFiles.read(`${folder}/${name}`)).toString('utf8')
      return parseCase(name.replace(/\.txt$/, ''), text)
    }),
  )
}

function parseCase(name: string, text: string): KustomizeCase {
  const [head = '', ...parts] = text.split(/^-- (.+?) --\n/m)
  const sections = new Map<string, string>()
  for (let at = 0; at < parts.length; at += 2) sections.set(parts[at] ?? '', parts[at + 1] ?? '')
  const take = (section: string): string => {
    const content = sections.get(section) ?? ''
    sections.delete(section)
    return content
  }
  const [output, error, warnings] = [take('output'), take('error'), take('warnings')]
  const setting = (key: string): string | undefined => new RegExp(`^${key}: (.*)$`, 'm').exec(head)?.[1]
  return {
    name,
    title: head.split('\n')[0] ?? '',
    files: new Map([...sections].map(([path, content]) => [path, bytesOf(content)])),
    build: setting('build') ?? '.',
    isUnrestricted: setting('load-restrictor') === 'LoadRestrictionsNone',
    output,
    error: error.trimEnd(),
    warnings,
  }
}

function bytesOf(content: string): Uint8Array {
  return content.startsWith('base64:') ? Buffer.from(content.slice(7), 'base64') : Buffer.from(content)
}
