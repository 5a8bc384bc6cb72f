/** The documents of OpenAPI v3: one per group version, and small ones for the rest. */
import { apiVersionOf, isCustomKind, type GroupVersion, type Resource } from '#/api/resource.ts'
import type { SchemeGroup, SchemeVersion } from '#/api/scheme.ts'
import { groupPath, issuerPaths, resourceListPath, rootPaths } from './fixed-paths.ts'
import type { Path } from './operation.ts'
import { resourcePaths } from './resource-paths.ts'

/** The same object until its content changes, so that documents can be cached by it. */
export interface Section {
  /** Path suffix, e.g. `apis/apps/v1`. */
  readonly name: string
  readonly home: GroupVersion | undefined
  /** Resources of the document, which determine its content. */
  readonly resources: readonly Resource[]
  paths(): readonly Path[]
}

export interface SectionOptions {
  /** Names of sections of group versions to leave out. */
  readonly excluded: Pick<ReadonlySet<string>, 'has'>
  /** True if the issuer of service account tokens is discoverable. */
  readonly isIssuerServed: boolean
}

/** By name, sorted. */
export function sectionsOf(
  groups: readonly SchemeGroup[],
  { excluded, isIssuerServed }: SectionOptions,
): ReadonlyMap<string, Section> {
  const sections = [...rootSections, ...(isIssuerServed ? issuerSections : [])]
  for (const group of groups) {
    const versions = versionSections(group).filter(({ name }) => !excluded.has(name))
    if (versions.length > 0 && group.name !== '' && !isCustomGroup(group)) sections.push(groupSection(group))
    sections.push(...versions)
  }
  sections.sort((left, right) => (left.name < right.name ? -1 : 1))
  return new Map(sections.map(section => [section.name, section]))
}

/** Groups of custom resources have documents of their versions only. */
function isCustomGroup({ versions }: SchemeGroup): boolean {
  return versions.every(({ resources }) => resources.every(isCustomKind))
}

const rootSections = Array.from(rootPaths, ([name, path]) => fixedSection(name, path))
const issuerSections = Array.from(issuerPaths, ([name, path]) => fixedSection(name, path))

function groupSection(group: SchemeGroup): Section {
  return groupSections.getOrInsertComputed(group, ({ name }) => fixedSection(`apis/${name}`, groupPath(name)))
}

const groupSections = new WeakMap<SchemeGroup, Section>()

function fixedSection(name: string, path: Path): Section {
  return { name, home: undefined, resources: [], paths: () => [path] }
}

function versionSections({ versions }: SchemeGroup): readonly Section[] {
  return versions.map(version => sectionsOfVersions.getOrInsertComputed(version, versionSection))
}

const sectionsOfVersions = new WeakMap<SchemeVersion, Section>()

function versionSection({ group, version, resources }: SchemeVersion): Section {
  return {
    name: sectionName({ group, version }),
    home: { group, version },
    resources,
    paths: () => [resourceListPath({ group, version }), ...resources.flatMap(resourcePaths)],
  }
}

export function sectionName({ group, version }: GroupVersion): string {
  return `${group === '' ? 'api' : 'apis'}/${apiVersionOf({ group, version })}`
}
