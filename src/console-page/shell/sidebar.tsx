import type { JSX } from 'preact'
import { Icon, type IconName } from '../components/icon.tsx'
import { resourceId, type ApiResource } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { hrefOf, route } from '../router/router.ts'
import { views } from '../views.ts'
import { customResources, pluralOf, sections, type NavigationSection } from './navigation.ts'

/** Navigation through views and resources. */
export function Sidebar({ onNavigate }: { readonly onNavigate: () => void }): JSX.Element {
  const { resources } = discovery.value
  const custom = customResources(resources)
  const known = new Set(sections.map(section => section.title))
  const others = [...new Set(views.map(view => view.section))].filter(
    title => title !== '' && !known.has(title),
  )
  return (
    <nav class="sidebar" aria-label="Views and resources" onClick={onNavigate}>
      <ViewLinks section="" />
      {sections.map(section => (
        <Section key={section.title} section={section} resources={resources} />
      ))}
      {custom.length > 0 ? (
        <section>
          <SectionTitle title="Custom resources" icon="custom" />
          <ul>
            {custom.map(resource => (
              <ResourceLink key={resourceId(resource)} resource={resource} />
            ))}
          </ul>
        </section>
      ) : null}
      {others.map(title => (
        <section key={title}>
          <SectionTitle title={title} icon="gauge" />
          <ViewLinks section={title} />
        </section>
      ))}
    </nav>
  )
}

function Section({
  section,
  resources,
}: {
  readonly section: NavigationSection
  readonly resources: readonly ApiResource[]
}): JSX.Element {
  const byId = new Map(resources.map(resource => [resourceId(resource), resource]))
  const served = section.resources.flatMap(id => byId.get(id) ?? [])
  return (
    <section>
      <SectionTitle title={section.title} icon={section.icon} />
      <ul>
        {served.map(resource => (
          <ResourceLink key={resourceId(resource)} resource={resource} />
        ))}
      </ul>
      <ViewLinks section={section.title} />
    </section>
  )
}

function SectionTitle({ title, icon }: { readonly title: string; readonly icon: IconName }): JSX.Element {
  return (
    <h2 class="sidebar-title">
      <Icon name={icon} />
      {title}
    </h2>
  )
}

function ResourceLink({ resource }: { readonly resource: ApiResource }): JSX.Element {
  const id = resourceId(resource)
  return (
    <li>
      <a href={hrefOf([id])} aria-current={route.value.path[0] === id ? 'page' : undefined} title={id}>
        {pluralOf(resource)}
      </a>
    </li>
  )
}

function ViewLinks({ section }: { readonly section: string }): JSX.Element | null {
  const shown = views.filter(view => view.section === section)
  if (shown.length === 0) return null
  return (
    <ul>
      {shown.map(({ path, title, icon }) => (
        <li key={path}>
          <a href={hrefOf([path])} aria-current={route.value.path[0] === path ? 'page' : undefined}>
            {section === '' ? <Icon name={icon} /> : null}
            {title}
          </a>
        </li>
      ))}
    </ul>
  )
}
