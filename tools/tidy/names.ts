import { basename } from 'node:path/posix'
import type { Finding } from './finding.ts'
import { lineAt, type SourceFile } from './source-file.ts'

const kebabFolder = /^[a-z0-9]+(-[a-z0-9]+)*$/
const kebabFile = /^[a-z0-9]+(-[a-z0-9]+)*(\.(conformance|crash))?(\.test)?\.tsx?$/

export function checkFileNames(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(({ path }) => {
    const folders = path.split('/').slice(0, -1)
    const isKebab = folders.every(folder => kebabFolder.test(folder)) && kebabFile.test(basename(path))
    return isKebab ? [] : [{ path, line: 1, text: 'names of files and folders are kebab-case' }]
  })
}

/** Words without meaning in a name. */
const emptyWords = /(?<![A-Za-z])(managers?|helpers?|utils?|utility|utilities|impl)(?![a-z])/i
/** In a type name, `Base` describes the implementation instead of the concept. */
const baseType = /(^|[a-z0-9])Base(?![a-z0-9])/
/** Exceptions for Kubernetes' own terms; `itsOwnPlaces` are the files about them. */
const itsOwnWords = /(controller|field)-?manager/gi
const itsOwnPlaces = /^src\/(api\/apply\b|controllers\/manager\.ts$)/

const declaration = /\b(class|interface|type|function)\s+([A-Za-z_$][\w$]*)/g

export function checkWords(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(({ path }) => !itsOwnPlaces.test(path))
    .flatMap(({ path, code, content }) => {
      const findings: Finding[] = []
      const name = basename(path).replace(/\.tsx?$/, '')
      if (isEmpty(name)) findings.push({ path, line: 1, text: emptyName(name) })
      for (const { 1: kind, 2: declared = '', index } of code.matchAll(declaration)) {
        if (!isEmpty(words(declared)) && (kind === 'function' || !baseType.test(declared))) continue
        findings.push({ path, line: lineAt(content, index), text: emptyName(declared) })
      }
      return findings
    })
}

function isEmpty(name: string): boolean {
  return emptyWords.test(name.replaceAll(itsOwnWords, ''))
}

/** `podManager` becomes `pod-Manager`. */
function words(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-')
}

function emptyName(name: string): string {
  return `${name}: Manager, Helper, Util, Impl and Base say nothing; name it for what it does`
}
