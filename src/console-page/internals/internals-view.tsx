import type { ComponentType, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useCurrentTabInView } from '../components/use-current-tab-in-view.ts'
import { hrefOf, route } from '../router/router.ts'
import { ConflictsPart } from './conflicts-part.tsx'
import { FairnessPart } from './fairness-part.tsx'
import { InformersPart } from './informers-part.tsx'
import { LeasesPart } from './leases-part.tsx'
import { QueuesPart } from './queues-part.tsx'
import { WatchesPart } from './watches-part.tsx'

interface Part {
  /** In the address: `?part=leases`. */
  readonly name: string
  readonly title: string
  readonly component: ComponentType
}

const parts: readonly [Part, ...Part[]] = [
  { name: 'queues', title: 'Queues', component: QueuesPart },
  { name: 'informers', title: 'Informers', component: InformersPart },
  { name: 'watches', title: 'Who watches what', component: WatchesPart },
  { name: 'conflicts', title: 'Conflicts', component: ConflictsPart },
  { name: 'leases', title: 'Leases', component: LeasesPart },
  { name: 'fairness', title: 'Priority and fairness', component: FairnessPart },
]

/** How the control plane works inside. */
export function InternalsView(): JSX.Element {
  const part = parts.find(({ name }) => name === route.value.query['part']) ?? parts[0]
  const Content = part.component
  const nav = useRef<HTMLElement>(null)
  useEffect(() => {
    document.title = `${part.title} - k8ts`
  }, [part])
  useCurrentTabInView(nav, part.name)
  return (
    <div class="internals">
      <header class="view-header">
        <h1>Internals</h1>
      </header>
      <nav ref={nav} class="tabs" aria-label="Parts">
        {parts.map(({ name, title }) => (
          <a
            key={name}
            href={hrefOf(['internals'], { part: name })}
            aria-current={part.name === name ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <section key={part.name} class="internals-part" aria-label={part.title}>
        <Content />
      </section>
    </div>
  )
}
