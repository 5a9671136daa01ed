/* study.js -- one study: its sections, and what feeds them. */
import * as api from './api.js';
import { coefficientsSection } from './coefficients.js';
import { element, setText } from './dom.js';

/** Fill the page; the answer is what to ask again and again. */
export function studyView(main, id) {
    let sections = null;

    function build(study) {
        document.title = `${study.title} · tremolo`;
        main.append(element('h1', { text: study.title }));
        if (study.purpose) main.append(element('p', { class: 'purpose', text: study.purpose }));
        sections = [coefficientsSection(study)];
        main.append(...sections.map((part) => part.node));
    }

    return async () => {
        if (sections === null) build((await api.published(id)).study);
        const estimate = await api.estimate(id);
        for (const part of sections) part.update({ estimate });
    };
}
