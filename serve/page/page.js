// The page of a server: asks for its state every two seconds and shows it. Text from outside is only ever set as text.
'use strict';
const PERIOD_MS = 2000, POINTS = 90, SVG = 'http://www.w3.org/2000/svg';
const cards = document.getElementById('cards'), state = document.getElementById('state');
const shown = new Map(); // name of a network -> what its card was made of

function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
}

function drawn(tag, attributes, text) {
    const e = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
}

function digits(x) { return x >= 100 || x === 0 ? x.toFixed(0) : x.toPrecision(3); }
function count(x) { return x.toLocaleString('en'); }
function bytes(x) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let i = 0;
    while (x >= 1024 && i + 1 < units.length) { x /= 1024; i++; }
    return `${i ? digits(x) : x} ${units[i]}`;
}
function time(s) {
    const [d, h, m] = [Math.floor(s / 86400), Math.floor(s / 3600) % 24, Math.floor(s / 60) % 60];
    return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : m ? `${m} min${s % 60 >= 1 ? ` ${Math.floor(s % 60)} s` : ''}` : `${Math.floor(s)} s`;
}

function facts(rows) {
    const list = element('dl');
    for (const [name, value, bad] of rows) {
        const pair = element('div');
        pair.append(element('dt', name), element('dd', value, bad ? 'bad' : ''));
        list.append(pair);
    }
    return list;
}

// Values of the last minutes, the newest at the right.
function curve(values, label) {
    const svg = drawn('svg', {viewBox: '0 0 320 48', role: 'img', 'aria-label': label});
    const most = Math.max(...values, 1e-9);
    const path = values.map((v, i) => `${i ? 'L' : 'M'}${(320 - (values.length - 1 - i) * 320 / (POINTS - 1)).toFixed(1)},` +
        `${(46 - 44 * v / most).toFixed(1)}`).join('');
    svg.append(drawn('path', {class: 'axis', d: 'M0,47H320'}), drawn('path', {class: 'curve', d: path}));
    return svg;
}

function histogram(buckets, ends) {
    const svg = drawn('svg', {viewBox: '0 0 320 78', role: 'img', 'aria-label': 'latency of all requests'});
    const most = Math.max(...buckets, 1), width = 320 / buckets.length;
    buckets.forEach((n, i) => {
        const h = n ? Math.max(1, 58 * n / most) : 0;
        const bar = drawn('rect', {class: 'bar', x: (i * width + 1).toFixed(1), y: (60 - h).toFixed(1),
            width: (width - 2).toFixed(1), height: h.toFixed(1)});
        bar.append(drawn('title', {}, `${count(n)} requests ${i < ends.length ? `up to ${ends[i]} ms` : 'longer'}`));
        svg.append(bar);
        if (i < ends.length && i % 3 === 0)
            svg.append(drawn('text', {x: ((i + 1) * width).toFixed(1), y: 74, 'text-anchor': 'middle'}, `${ends[i]}`));
    });
    svg.append(drawn('path', {class: 'axis', d: 'M0,60.5H320'}), drawn('text', {x: 319, y: 74, 'text-anchor': 'end'}, 'ms'));
    return svg;
}

function card(name, under, parts) {
    let c = shown.get(name);
    if (!c) {
        c = {section: element('section')};
        shown.set(name, c);
        cards.append(c.section);
    }
    c.section.replaceChildren(element('h2', name), element('p', under, 'under'), ...parts);
    return c;
}

function showNetwork(n, status, seconds) {
    const before = shown.get(n.name) || {busy_s: n.busy_s, success: n.success, load: []};
    const passed = seconds || PERIOD_MS / 1000;
    const load = Math.min(1, (n.busy_s - before.busy_s) / passed), rate = (n.success - before.success) / passed;
    const history = [...before.load, rate].slice(-POINTS);
    const r = n.recent, latency = x => r.requests ? `${digits(x)} ms` : '-';
    const c = card(n.name, `${n.device}, file ${bytes(n.file_bytes)}, plans ${bytes(n.memory_bytes)}, ` +
        `batch up to ${n.max_batch}`, [
        facts([['load', `${digits(100 * load)} %`], ['per second', digits(rate)], ['waiting', count(n.waiting)],
            ['median', latency(r.p50_ms)], ['90 %', latency(r.p90_ms)], ['99 %', latency(r.p99_ms)],
            ['longest', latency(r.max_ms)], ['answered', count(n.success)], ['failed', count(n.failure), n.failure > 0],
            ['rows a batch', n.batches ? digits(n.rows / n.batches) : '-']]),
        element('h3', `requests a second, last ${history.length * PERIOD_MS / 1000} s`), curve(history, 'requests a second'),
        element('h3', 'latency of all requests'), histogram(n.buckets, status.bucket_ms)]);
    Object.assign(c, {busy_s: n.busy_s, success: n.success, load: history});
}

let uptime = 0;
function showNetworks(status) {
    const gpus = status.gpus.map((g, i) => `GPU ${i}: ${g.utilization < 0 ? '' : `${digits(100 * g.utilization)} %`}` +
        `${g.power_w < 0 ? '' : ` ${digits(g.power_w)} W`}`);
    for (const n of status.networks) showNetwork(n, status, uptime ? status.uptime_s - uptime : 0);
    uptime = status.uptime_s;
    return [`pith ${status.version}`, `up ${time(status.uptime_s)}`, `memory ${bytes(status.resident_bytes)}`, ...gpus]
        .join(' · ');
}

// ---- asking ----------------------------------------------------------------------------------------

async function ask(path) {
    const token = sessionStorage.getItem('token');
    const reply = await fetch(path, token ? {headers: {Authorization: `Bearer ${token}`}} : {});
    if (!reply.ok)
        throw Object.assign(new Error((await reply.json().catch(() => ({}))).error || reply.statusText), {code: reply.status});
    return reply;
}

function askForToken() {
    if (cards.querySelector('form')) return;
    const form = element('form'), field = element('input'), label = element('label', 'Token ');
    field.type = 'password';
    field.autocomplete = 'current-password';
    label.append(field);
    form.append(label, element('button', 'Show'));
    form.onsubmit = event => {
        event.preventDefault();
        sessionStorage.setItem('token', field.value);
        form.remove();
        update();
    };
    cards.prepend(form);
}

async function update() {
    try {
        state.textContent = showNetworks(await (await ask('/status')).json());
        state.className = '';
    } catch (error) {
        if (error.code === 401) askForToken();
        state.textContent = error.code ? error.message : 'the server does not answer';
        state.className = 'bad';
    }
}

async function follow() {
    await update();
    setTimeout(follow, PERIOD_MS);
}
follow();
