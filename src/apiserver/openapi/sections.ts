/** The documents of OpenAPI v3: one per group version, and small ones for the rest. */
import { apiVersionOf, type GroupVersion, type Resource } from '#/api/resource.ts'
import { versionsOf } from '../discovery/groups.ts'
import { fixedPaths, resourceListPath } from './fixed-paths.ts'
import type { Path } from './operation.ts'
import { resourcePaths } from './resource-paths.ts'

export interface Section {
  /** Path suffix, e.g. `apis/apps/v1`. */
  readonly name: string
  readonly home: GroupVersion | undefined
  /** Resources of the document, which determine its content. */
  readonly resources: readonly Resource[]
  paths(): readonly Path[]
}

/** By name, sorted. */
export function sectionsOf(resources: readonly Resource[]): ReadonlyMap<string, Section> {
  const fixed = [...fixedPaths(versionsOf(resources).keys())].map(([name, path]): Section => ({
    name,
    home: undefined,
    resources: [],
    paths: () => [path],
  }))
  const homes = Map.groupBy(resources, apiVersionOf)
  const versions = [...homes.values()].flatMap(members =>
    members[0] ? [versionSection(members[0], members)] : [],
  )
  const sections = [...fixed, ...versions].sort((left, right) => (left.name < right.name ? -1 : 1))
  return new Map(sections.map(section => [section.name, section]))
}

function versionSection({ group, version }: GroupVersion, resources: readonly Resource[]): Section {
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
